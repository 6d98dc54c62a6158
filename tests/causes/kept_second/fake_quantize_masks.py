# cause: growth
# owner: FakeQuantize|forward|fake_quantize|train_step
# change: ctx|keep|kept|hold|save_for_backward|clear|drop|remov|releas|free|list|bound|limit|registry|detach
# source: quantization-aware training with a custom autograd function that registers each call's ctx for later statistics
import json
import time

import torch
from torch import nn

ROWS, WIDTH, LAYERS, STEPS = 8192, 8192, 2, 28


class FakeQuantize(torch.autograd.Function):
    calls = []

    @staticmethod
    def forward(ctx, values, limit):
        inside = values.abs() <= limit
        ctx.inside = inside
        FakeQuantize.calls.append(ctx)
        return torch.round(values.clamp(-limit, limit) * (127 / limit)).mul_(limit / 127)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.inside, None


class QuantizedMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS))

    def forward(self, hidden):
        for layer in self.layers:
            hidden = layer(FakeQuantize.apply(hidden, 3.0))
        return hidden


def train_step(model, optimizer):
    batch = torch.randn(ROWS, WIDTH, device="cuda")
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


torch.backends.cuda.matmul.allow_tf32 = True
model = QuantizedMLP().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for _ in range(STEPS):
    train_step(model, optimizer)
    torch.cuda.synchronize()
    time.sleep(0.12)
mask = ROWS * WIDTH
print(json.dumps({"bytes": [mask, LAYERS * mask, STEPS * LAYERS * mask, (STEPS - 1) * LAYERS * mask]}))
