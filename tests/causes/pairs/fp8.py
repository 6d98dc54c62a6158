# changed: linear layers compute in fp8 and save their inputs in fp8 instead of bf16
# cause: activations
# owner: Block.forward|Linear8|Linear.forward
# change: element|precision|smaller|dtype
# larger: before
import json
import sys

import torch

run = sys.argv[1]
WIDTH, LAYERS, TOKENS = 4096, 16, 16384
FP8 = torch.float8_e4m3fn


def to_fp8(t):
    scale = t.abs().max().float() / torch.finfo(FP8).max
    return (t / scale).to(FP8), scale


class Linear8(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        x8, x_scale = to_fp8(x)
        w8, w_scale = to_fp8(weight)
        ctx.save_for_backward(x8, w8, x_scale, w_scale)
        return torch._scaled_mm(x8, w8.t(), x_scale, w_scale, out_dtype=torch.bfloat16)

    @staticmethod
    def backward(ctx, gradient):
        x8, w8, x_scale, w_scale = ctx.saved_tensors
        weight = w8.to(gradient.dtype) * w_scale.to(gradient.dtype)
        x = x8.to(gradient.dtype) * x_scale.to(gradient.dtype)
        return gradient @ weight, gradient.t() @ x


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        y = Linear8.apply(x, self.linear.weight) if run == "after" else self.linear(x)
        return x + y


net = torch.nn.Sequential(*[Block() for _ in range(LAYERS)]).cuda().bfloat16()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-5)
for _ in range(5):
    net(torch.randn(TOKENS, WIDTH, device="cuda", dtype=torch.bfloat16)).float().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
saved, weights = LAYERS * TOKENS * WIDTH, LAYERS * WIDTH * WIDTH
print(json.dumps({"bytes": [saved, saved - weights], "peak": torch.cuda.max_memory_allocated()}))
