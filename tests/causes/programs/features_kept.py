# cause: growth
# owner: extract|Block.forward
# change: cpu|detach|keeps
# source: the kind of feature extraction
import json
import torch

class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


net = torch.nn.Sequential(*[Block(512) for _ in range(3)]).cuda().eval()
features = []


@torch.inference_mode()
def extract(batch):
    features.append(net(batch))


for _ in range(25):
    extract(torch.randn(8192, 512, device="cuda"))
print(json.dumps({"bytes": [8192 * 512 * 4, 25 * 8192 * 512 * 4]}))
