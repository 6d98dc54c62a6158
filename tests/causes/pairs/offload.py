# changed: activations are kept in pinned host memory
# cause: activations
# owner: Block.forward|save_on_cpu
# change: offload|host|fewer blocks|checkpoint
# larger: before
import json
import sys
from contextlib import nullcontext

import torch

run = sys.argv[1]


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


net = torch.nn.Sequential(*[Block(1024) for _ in range(8)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for _ in range(5):
    with torch.autograd.graph.save_on_cpu(pin_memory=True) if run == "after" else nullcontext():
        net(torch.randn(8192, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
torch.cuda.synchronize()
print(json.dumps({"bytes": [], "peak": torch.cuda.max_memory_allocated()}))
