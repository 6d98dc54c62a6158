# cause: activations
# owner: evaluate|Block.forward
# heap: gpu0/torch
# change: no_grad|inference_mode
# source: pytorch/vision (kind)
import json
import torch

class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


net = torch.nn.Sequential(*[Block(1024) for _ in range(10)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)


def evaluate():
    return net(torch.randn(32768, 1024, device="cuda")).square().mean().item()


for _ in range(4):
    for _ in range(4):
        net(torch.randn(2048, 1024, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    evaluate()
print(json.dumps({"bytes": []}))
