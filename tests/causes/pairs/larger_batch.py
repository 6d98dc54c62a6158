# changed: the batch has 12 samples instead of 8
# cause: activations
# owner: Block.forward
# change: batch|sequence
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


batch = 12 if run == "after" else 8
net = torch.nn.Sequential(*[Block(1024) for _ in range(6)]).cuda()
optimizer = torch.optim.AdamW(net.parameters(), fused=True)
for _ in range(6):
    net(torch.randn(batch, 1024, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(json.dumps({"bytes": [], "peak": torch.cuda.max_memory_allocated()}))
