# cause: activations
# owner: layers.7
# heap: gpu0/torch
# change: checkpoint
# source: pytorch/pytorch (kind)
import json
import torch

class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


from torch.utils.checkpoint import checkpoint


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Sequential(*[Block(1024) for _ in range(3)]) for _ in range(12))

    def forward(self, x):
        for number, layer in enumerate(self.layers):
            x = layer(x) if number == 7 else checkpoint(layer, x, use_reentrant=False)
        return x


net = Net().cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for _ in range(4):
    net(torch.randn(8192, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(json.dumps({"bytes": [3 * 8192 * 1024 * 4 * 10, 3 * 8192 * 1024 * 4 * 9]}))
