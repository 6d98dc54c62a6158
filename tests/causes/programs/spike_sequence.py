# cause: instance
# owner: Block.forward|step
# heap: gpu0/torch
# change: sequence|batch|length
# source: Lightning-AI (kind)
import json
import torch

class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


net = torch.nn.Sequential(*[Block(1024) for _ in range(6)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
nvtx = torch.cuda.nvtx
for step in range(14):
    nvtx.range_push(f"step {step}")
    net(torch.randn(16384 if step == 9 else 4096, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    nvtx.range_pop()
print(json.dumps({"bytes": [], "instance": "step:9"}))
