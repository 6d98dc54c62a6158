# cause: none
# source: a healthy program
import json
import torch

class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


teacher = torch.nn.Sequential(*[Block(2048) for _ in range(6)]).cuda().requires_grad_(False).eval()
net = torch.nn.Sequential(*[Block(2048) for _ in range(2)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for _ in range(10):
    x = torch.randn(2048, 2048, device="cuda")
    with torch.no_grad():
        target = teacher(x)
    (net(x) - target).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(json.dumps({"bytes": []}))
