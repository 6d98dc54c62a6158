# cause: activations
# owner: forward|<module>
# heap: gpu0/torch
# change: batch|checkpoint
# source: pytorch/pytorch#16417 (kind)
import json
import torch

class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


free, total = torch.cuda.mem_get_info()
net = torch.nn.Sequential(*[Block(2048) for _ in range(8)]).cuda()
rows = int(1.2 * total / (8 * 2048 * 4 * 10))
try:
    net(torch.randn(rows, 2048, device="cuda")).square().mean().backward()
except torch.OutOfMemoryError:
    pass
print(json.dumps({"bytes": []}))
