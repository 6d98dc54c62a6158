# changed: the optimizer is fused instead of foreach
# cause: temporaries
# owner: (?i)adamw?.step|optimizer
# change: foreach|fused
# larger: before
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


net = torch.nn.Sequential(*[Block(2048) for _ in range(6)]).cuda()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, foreach=run == "before", fused=run == "after")
for _ in range(5):
    net(torch.randn(64, 2048, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(json.dumps({"bytes": [sum(p.numel() * 4 for p in net.parameters())], "peak": torch.cuda.max_memory_allocated()}))
