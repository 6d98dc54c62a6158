# changed: nothing that matters: modules, functions and files have other names, lengths come in another order, parts are built in another order
# cause: none
# owner: .
# change: .
# larger: after
import importlib
import json
import os
import random
import sys
import tempfile

import torch

run = sys.argv[1]
SOURCE = '''
import torch
import torch.nn.functional as F


class TOWER(torch.nn.Module):
    def __init__(self, width, hidden, layers):
        super().__init__()
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width) for _ in range(layers))
        self.up = torch.nn.ModuleList(torch.nn.Linear(width, hidden) for _ in range(layers))
        self.down = torch.nn.ModuleList(torch.nn.Linear(hidden, width) for _ in range(layers))

    def forward(self, x):
        for norm, up, down in zip(self.norms, self.up, self.down):
            x = x + down(F.gelu(up(norm(x))))
        return x


def STEP(towers, optimizer, rows):
    text, image = towers
    x = torch.randn(rows, 1024, device="cuda")
    loss = (text(x) - image(x)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


@torch.no_grad()
def CHECK(towers, rows):
    x = torch.randn(rows, 1024, device="cuda")
    return (towers[0](x) * towers[1](x)).mean().item()
'''
NAMES = {"before": ("contrastive", "Tower", "train_step", "validate"), "after": ("two_towers_v2", "Encoder", "optimize", "measure")}
module, tower, step, check = NAMES[run]
text = SOURCE.replace("TOWER", tower).replace("STEP", step).replace("CHECK", check)
if run == "after":
    text = "# Two encoders.\n#\n# Formerly contrastive.py\n\n" + text
with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, module + ".py"), "w", encoding="utf-8") as f:
        f.write(text)
    sys.path.insert(0, folder)
    code = importlib.import_module(module)
    sys.path.remove(folder)
build, train, evaluate = (getattr(code, name) for name in (tower, step, check))


def main():
    with torch.device("cuda"):
        if run == "before":
            towers = build(1024, 4096, 10), build(1024, 2048, 6)
        else:
            image = build(1024, 2048, 6)
            towers = build(1024, 4096, 10), image
    parameters = [p for t in (towers if run == "before" else reversed(towers)) for p in t.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4, fused=True)
    rng = random.Random(11 if run == "before" else 12)
    rows = [4096, 4096] + [8 * rng.randint(128, 512) for _ in range(30)]  # the longest comes first in both
    rows[rng.randint(5, 30)] = 4096
    for i, n in enumerate(rows):
        train(towers, optimizer, n)
        if i % 10 == (4 if run == "before" else 7):
            evaluate(towers, n // 2)


main()
torch.cuda.synchronize()
print(json.dumps({"bytes": [], "peak": torch.cuda.max_memory_allocated()}))
