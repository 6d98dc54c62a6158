# cause: growth
# owner: Linear.forward|Block.forward
# heap: gpu0/torch
# change: hook|remove|keeps
# source: pytorch/pytorch#5801 (kind)
import json
import torch

class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


net = torch.nn.Sequential(*[Block(512) for _ in range(4)]).cuda().eval()
seen = []
net[2].up.register_forward_hook(lambda module, inputs, output: seen.append(output))


@torch.no_grad()
def predict():
    return net(torch.randn(4096, 512, device="cuda")).sum().item()


for _ in range(25):
    predict()
print(json.dumps({"bytes": [4096 * 2048 * 4, 25 * 4096 * 2048 * 4]}))
