# cause: optimizer_state
# owner: (?i)step
# change: fewer|8 bits|shard|optimizer
# source: the kind of training in phases whose schedulers keep the optimizers of earlier phases
import json

import torch

WIDTH, LAYERS = 4096, 16
net = torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)]).cuda()
schedulers = []


def train(steps):
    optimizer = torch.optim.AdamW(net.parameters(), fused=True)
    schedulers.append(torch.optim.lr_scheduler.ConstantLR(optimizer))
    for _ in range(steps):
        net(torch.randn(256, WIDTH, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        schedulers[-1].step()


for _ in range(3):
    train(6)
torch.cuda.synchronize()
state = 2 * LAYERS * WIDTH * WIDTH * 4
print(json.dumps({"bytes": [3 * state, 2 * state]}))
