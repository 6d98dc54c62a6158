# cause: none
# source: a healthy program; nearly: activations
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

layers = torch.nn.ModuleList(Block(512) for _ in range(8)).cuda()
optimizer = torch.optim.SGD(layers.parameters(), lr=1e-3)
for _ in range(12):
    x = torch.randn(1024, 512, device="cuda", requires_grad=True)
    for layer in layers:
        x = checkpoint(layer, x, use_reentrant=False)
    x.square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
