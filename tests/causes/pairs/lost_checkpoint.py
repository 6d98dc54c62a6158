# changed: three layers of twelve are no longer checkpointed
# cause: activations
# owner: layers.[345]|Block.forward
# change: checkpoint
# larger: after
import json
import sys

import torch
import torch.utils.checkpoint

run = sys.argv[1]


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Sequential(*[Block(1024) for _ in range(2)]) for _ in range(12))

    def forward(self, x):
        for number, layer in enumerate(self.layers):
            lost = run == "after" and number in (3, 4, 5)
            x = layer(x) if lost else torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)
        return x


net = Net().cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for _ in range(4):
    net(torch.randn(8192, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(json.dumps({"bytes": [], "peak": torch.cuda.max_memory_allocated()}))
