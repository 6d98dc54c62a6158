# cause: none
# source: a healthy program: training whose sequences get longer in planned stages, so the peak rises three times and each stage is level
import json
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

WIDTH, LAYERS, STAGES, STEPS = 1024, 12, (4096, 6144, 8192, 10240), 12


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, hidden):
        return hidden + self.down(F.gelu(self.up(self.norm(hidden))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, hidden):
        for layer in self.layers:
            hidden = checkpoint(layer, hidden, use_reentrant=False)
        return hidden


def train_stage(model, optimizer, tokens):
    for _ in range(STEPS):
        batch = torch.randn(8, tokens // 8, WIDTH, device="cuda")
        loss = (model(batch) - batch.roll(1, 1)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        time.sleep(0.08)


torch.backends.cuda.matmul.allow_tf32 = True
model = Model().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for tokens in STAGES:
    train_stage(model, optimizer, tokens)
print(json.dumps({"bytes": []}))
