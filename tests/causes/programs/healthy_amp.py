# cause: none
# source: a healthy program; nearly: temporaries
import json
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
scaler = torch.amp.GradScaler()
for _ in range(15):
    with torch.autocast("cuda", torch.float16):
        loss = net(torch.randn(512, 512, device="cuda")).square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
