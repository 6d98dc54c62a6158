# cause: growth
# owner: snapshot
# heap: gpu0/torch
# change: cpu|one copy|keeps
# source: ultralytics/ultralytics (kind)
import json
import torch

class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


net = torch.nn.Sequential(*[Block(1024) for _ in range(3)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
states = []


def snapshot():
    states.append({name: value.clone() for name, value in net.state_dict().items()})


def epoch():
    for _ in range(4):
        net(torch.randn(1024, 1024, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    snapshot()


for _ in range(16):
    epoch()
size = sum(p.numel() * 4 for p in net.parameters())
print(json.dumps({"bytes": [size, 16 * size]}))
