# changed: the element type, from float32 to bfloat16
# cause: element_size
# owner: Block|Linear|cuda|to
# change: element|dtype|bf16|precision
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


net = torch.nn.Sequential(*[Block(2048) for _ in range(8)]).cuda()
if run == "after":
    net = net.bfloat16()
dtype = next(net.parameters()).dtype
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for _ in range(5):
    net(torch.randn(4096, 2048, device="cuda", dtype=dtype)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(json.dumps({"bytes": [], "peak": torch.cuda.max_memory_allocated()}))
