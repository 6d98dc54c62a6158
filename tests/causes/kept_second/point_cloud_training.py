# cause: activations
# owner: PointLayer|layers|forward|train
# change: checkpoint|batch|smaller|fewer|precision|offload|accumul|recompute
# source: training on whole laser scans: a forward pass of all points runs out of the memory that a shared GPU grants
import json
import time

import torch
import torch.nn.functional as F
from torch import nn

LAYERS, WIDTH, POINTS, LIMIT = 16, 2048, 49152, 14 * 2**30
kept = {"bytes": 0}


def count(tensor, sign=1):
    kept["bytes"] += sign * tensor.numel() * tensor.element_size()
    return tensor


class PointLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, points):
        normed = count(self.norm(points))
        wide = count(self.up(normed))
        active = count(F.gelu(wide))
        change = count(self.down(active))
        result = count(points + change)
        count(change, -1)  # autograd does not need it
        return result


def train(model, optimizer):
    for _ in range(3):
        scan = count(torch.randn(POINTS, WIDTH, device="cuda", dtype=torch.bfloat16))
        features = scan
        for layer in model:
            features = layer(features)
        features.float().square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


torch.cuda.set_per_process_memory_fraction(LIMIT / torch.cuda.get_device_properties(0).total_memory)
model = nn.ModuleList(PointLayer() for _ in range(LAYERS)).to("cuda", torch.bfloat16)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
time.sleep(1)
try:
    train(model, optimizer)
except torch.cuda.OutOfMemoryError:
    scan_size = POINTS * WIDTH * 2
    print(json.dumps({"bytes": [kept["bytes"], kept["bytes"] - scan_size]}), flush=True)
    raise
