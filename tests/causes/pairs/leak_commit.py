# changed: a commit keeps the output of each step for a report
# cause: growth
# owner: train_step|Block.forward
# change: keeps|detach|bound
# larger: after
import json
import sys

import torch

run = sys.argv[1]


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


net = torch.nn.Sequential(*[Block(1024) for _ in range(4)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
report = []


def train_step(x):
    y = net(x)
    y.square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if run == "after":
        report.append(y.detach())


for _ in range(24):
    train_step(torch.randn(8192, 1024, device="cuda"))
print(json.dumps({"bytes": [8192 * 1024 * 4, 24 * 8192 * 1024 * 4, 23 * 8192 * 1024 * 4], "peak": torch.cuda.max_memory_allocated()}))
