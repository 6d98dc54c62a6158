# cause: none
# source: a healthy program: a server and a trainer that fit on one GPU; nearly: other_process
import job

role = job.start_roles("server", "trainer")
import torch


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


def serve():
    net = torch.nn.Sequential(*[Block(2048) for _ in range(8)]).half().cuda()
    job.mark("serving")
    with torch.no_grad():
        for _ in range(20):
            net(torch.randn(256, 2048, dtype=torch.half, device="cuda"))
    job.wait_for("trained")


def train():
    job.wait_for("serving")
    net = torch.nn.Sequential(*[Block(1024) for _ in range(4)]).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    for _ in range(20):
        net(torch.randn(256, 1024, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    job.mark("trained")


if role == "server":
    serve()
else:
    train()
