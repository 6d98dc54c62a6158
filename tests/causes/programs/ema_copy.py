# cause: holder
# owner: make_ema
# heap: gpu0/torch
# change: cpu|EMA|copy
# source: huggingface/diffusers#2302 (kind)
import json
import torch

import copy


net = torch.nn.Sequential(*[torch.nn.Linear(8192, 8192, bias=False) for _ in range(10)]).cuda()


def make_ema():
    return copy.deepcopy(net)


emas = [make_ema() for _ in range(4)]
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for _ in range(4):
    net(torch.randn(64, 8192, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(json.dumps({"bytes": [4 * 10 * 8192 * 8192 * 4]}))
