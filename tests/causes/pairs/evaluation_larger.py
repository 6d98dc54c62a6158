# changed: the evaluation, which never had no_grad, has batches of twice the size
# cause: activations
# owner: Block.forward|evaluate
# change: batch|no_grad
# larger: after
import json
import sys

import torch

run = sys.argv[1]
WIDTH, LAYERS = 2048, 12
ROWS = 8192 if run == "before" else 16384


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


def batch(rows):
    return torch.randn(rows, WIDTH, device="cuda", dtype=torch.bfloat16)


def evaluate(net):
    return sum(net(batch(ROWS)).float().square().mean().item() for _ in range(4))


net = torch.nn.Sequential(*[Block() for _ in range(LAYERS)]).cuda().bfloat16()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-5)
for _ in range(3):
    for _ in range(4):
        net(batch(1024)).float().square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    evaluate(net)
torch.cuda.synchronize()
saved = LAYERS * 8192 * (WIDTH + 2 * 4 * WIDTH) * 2
print(json.dumps({"bytes": [saved, 2 * saved], "peak": torch.cuda.max_memory_allocated()}))
