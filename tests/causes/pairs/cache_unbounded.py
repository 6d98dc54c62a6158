# changed: the cache of prompts has no bound
# cause: growth
# owner: lookup|encode
# change: bound|keeps
# larger: after
import json
import sys

import torch

run = sys.argv[1]
net = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(4)]).cuda().eval()
bound = None if run == "after" else 4
cache = {}


def encode(prompt):
    return net(torch.full((4096, 2048), float(prompt), device="cuda"))


@torch.no_grad()
def lookup(prompt):
    if prompt not in cache:
        if bound and len(cache) >= bound:
            cache.pop(next(iter(cache)))
        cache[prompt] = encode(prompt)
    return cache[prompt]


for request in range(40):
    lookup(request).sum().item()
print(json.dumps({"bytes": [4096 * 2048 * 4, 36 * 4096 * 2048 * 4, 40 * 4096 * 2048 * 4], "peak": torch.cuda.max_memory_allocated()}))
