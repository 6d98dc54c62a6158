# cause: growth
# owner: Block.forward|<module>|closure
# heap: gpu0/torch
# change: retain_graph|keeps
# source: pytorch/pytorch#4661 (kind)
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
losses = []
grew = 0
for _ in range(20):
    before = torch.cuda.memory_allocated()
    loss = net(torch.randn(4096, 512, device="cuda")).square().mean()
    loss.backward(retain_graph=True)
    net.zero_grad()
    losses.append(loss)
    grew = torch.cuda.memory_allocated() - before
print(json.dumps({"bytes": [grew, 20 * grew]}))
