# cause: none
# source: a healthy program; nearly: growth
import json
import torch

import collections

cache = collections.OrderedDict()
net = torch.nn.Linear(1024, 1024).cuda()
with torch.no_grad():
    for request in range(60):
        cache[request] = net(torch.randn(1024, 1024, device="cuda"))
        if len(cache) > 10:
            cache.popitem(last=False)
