# changed: evaluate() lost its inference_mode, and so each batch of the evaluation builds a graph
# cause: activations
# owner: (?i)evaluat|SwiGLU.forward|Net.forward
# change: (?i)no_grad|inference_mode|gradient|detach
# larger: after
import json
import sys

import torch
import torch.nn.functional as F

run = sys.argv[1]
WIDTH, HIDDEN, LAYERS, TRAIN_ROWS, EVAL_ROWS = 1536, 4096, 8, 2048, 16384


class SwiGLU(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.gate = torch.nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up = torch.nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = torch.nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x):
        h = self.norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(SwiGLU() for _ in range(LAYERS))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


with torch.device("cuda"):
    net = Net().to(torch.bfloat16)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)


def batch(rows):
    return torch.randn(rows, WIDTH, device="cuda", dtype=torch.bfloat16)


def train_epoch():
    net.train()
    for _ in range(6):
        net(batch(TRAIN_ROWS)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def evaluate():
    net.eval()
    total = 0.0
    for _ in range(4):
        total += net(batch(EVAL_ROWS)).square().mean().item()
    return total / 4


if run == "before":
    evaluate = torch.inference_mode()(evaluate)
for _ in range(3):
    train_epoch()
    evaluate()
torch.cuda.synchronize()
# x and h of each norm, then gate, up, silu(gate) and the product
per_layer = EVAL_ROWS * (2 * WIDTH + 4 * HIDDEN) * 2
print(json.dumps({"bytes": [LAYERS * per_layer, (LAYERS - 1) * per_layer, LAYERS * EVAL_ROWS * 4 * HIDDEN * 2, per_layer],
                  "peak": torch.cuda.max_memory_allocated()}))
