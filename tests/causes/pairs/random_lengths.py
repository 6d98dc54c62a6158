# changed: nothing but the random lengths of the sequences
# cause: none
import json
import sys
import random

import torch

run = sys.argv[1]


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


lengths = random.Random(1 if run == "before" else 4)
net = torch.nn.Sequential(*[Block(1024) for _ in range(6)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for _ in range(16):
    net(torch.randn(16, lengths.randint(256, 1024), 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(json.dumps({"peak": torch.cuda.max_memory_allocated()}))
