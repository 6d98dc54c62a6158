# cause: none
# source: a healthy program; nearly: optimizer_state
import json
import torch

class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


net = torch.nn.Sequential(*[Block(1024) for _ in range(12)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for _ in range(8):
    net(torch.randn(8192, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(json.dumps({"bytes": []}))
