# cause: none
# source: a healthy program: one process that has half of its layers on each of two GPUs, as accelerate's device_map does; nearly: foreign_gpu
import job

job.start_roles("pipeline")
import torch


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


first = torch.nn.Sequential(*[Block(1024) for _ in range(4)]).to("cuda:0")
second = torch.nn.Sequential(*[Block(1024) for _ in range(4)]).to("cuda:1")
optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=1e-3)
for _ in range(12):
    second(first(torch.randn(256, 1024, device="cuda:0")).to("cuda:1")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
