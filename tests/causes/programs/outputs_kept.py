# cause: growth
# owner: train_step|Block.forward
# heap: gpu0/torch
# change: item|detach|cpu|keeps
# source: huggingface/transformers#8524 (kind)
import json
import torch

class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


net = torch.nn.Sequential(Block(1024), Block(1024)).cuda()
optimizer = torch.optim.Adam(net.parameters())
outputs = []


def train_step():
    y = net(torch.randn(8192, 1024, device="cuda"))
    y.square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    outputs.append(y)


for _ in range(20):
    train_step()
print(json.dumps({"bytes": [8192 * 1024 * 4, 20 * 8192 * 1024 * 4]}))
