# cause: growth
# owner: evaluate|Block.forward
# heap: gpu0/torch
# change: no_grad|detach|item
# source: hszhao/semseg#60, huggingface/transformers#25487
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
losses = []


def train_epoch():
    for _ in range(6):
        net(torch.randn(2048, 1024, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def evaluate():
    for _ in range(10):
        losses.append(net(torch.randn(2048, 1024, device="cuda")).square().mean())


train_epoch()
before = torch.cuda.memory_allocated()
evaluate()
kept = torch.cuda.memory_allocated() - before
train_epoch()
evaluate()
print(json.dumps({"bytes": [kept // 10, kept, 2 * kept]}))
