# cause: none
# source: a healthy program
import json
import torch

class Stage(torch.nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.convolve = torch.nn.Conv2d(inside, outside, 3, stride=2, padding=1)
        self.norm = torch.nn.BatchNorm2d(outside)

    def forward(self, x):
        return torch.relu(self.norm(self.convolve(x)))


widths = [3, 32, 64, 128, 256, 512]
net = torch.nn.Sequential(*[Stage(a, b) for a, b in zip(widths, widths[1:])]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for _ in range(8):
    net(torch.randn(64, 3, 256, 256, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(json.dumps({"bytes": []}))
