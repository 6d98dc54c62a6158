# cause: instance
# owner: experts.3|Experts
# heap: gpu0/torch
# change: expert|capacity|balance
# source: microsoft/DeepSpeed MoE (kind)
import json
import torch

class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


class Experts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = torch.nn.ModuleList(Block(1024) for _ in range(8))

    def forward(self, x, counts):
        parts = x.split(counts)
        return torch.cat([expert(part) for expert, part in zip(self.experts, parts)])


net = Experts().cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for step in range(12):
    counts = [512, 512, 512, 13312, 512, 512, 512, 0] if step == 8 else [2048] * 8
    counts[7] += 16384 - sum(counts)
    torch.cuda.nvtx.range_push("step")
    net(torch.randn(16384, 1024, device="cuda"), counts).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    torch.cuda.nvtx.range_pop()
print(json.dumps({"bytes": []}))
