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


class Skips(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.down = torch.nn.ModuleList(Block(1024) for _ in range(4))
        self.up = torch.nn.ModuleList(Block(1024) for _ in range(4))

    def forward(self, x):
        kept = []
        for layer in self.down:
            x = layer(x)
            kept.append(x)
        for layer in self.up:
            x = layer(x + kept.pop())
        return x


net = Skips().cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for _ in range(3):
    for _ in range(4):
        net(torch.randn(2048, 1024, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad():
        net(torch.randn(24576, 1024, device="cuda")).square().mean().item()
print(json.dumps({"bytes": []}))
