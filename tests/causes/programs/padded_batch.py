# cause: instance
# owner: Block.forward|step
# change: length|sequence|batch|bucket
# source: the kind of NLP loaders
import json
import torch

class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


net = torch.nn.Sequential(*[Block(768) for _ in range(6)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
lengths = [128] * 11 + [1024] + [128] * 4
for step, length in enumerate(lengths):
    torch.cuda.nvtx.range_push("step")
    net(torch.randn(32, length, 768, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    torch.cuda.nvtx.range_pop()
print(json.dumps({"bytes": []}))
