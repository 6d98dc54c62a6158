# cause: none
# source: a healthy program; nearly: idle_gradients
import torch

class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


net = torch.nn.Sequential(*[Block(512) for _ in range(4)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for step in range(24):
    (net(torch.randn(512, 512, device="cuda")).square().mean() / 4).backward()
    if step % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
