# cause: activations
# owner: Block.forward|micro_step
# change: backward|checkpoint|smaller|batch
# source: pytorch/pytorch#7874 (kind)
import json
import torch

class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


free, total = torch.cuda.mem_get_info()
net = torch.nn.Sequential(*[Block(2048) for _ in range(8)]).cuda()
rows = int(0.12 * total / (8 * 2048 * 4 * 10))


def micro_step():
    return net(torch.randn(rows, 2048, device="cuda")).square().mean()


try:
    loss = 0
    for _ in range(16):
        loss = loss + micro_step()
    loss.backward()
except torch.OutOfMemoryError:
    pass
print(json.dumps({"bytes": []}))
