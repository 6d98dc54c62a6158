# cause: temporaries
# owner: expand_heads|attend|decode
# change: expand|enable_gqa|view|broadcast|pieces|chunk|in place|out=|smaller|repeat|copy|reuse
# source: a decoder with grouped-query attention that copies its keys and values for all query heads in each layer and step
import json
import time

import torch

LAYERS, BATCH, GROUPS, REPEATS, TOKENS, WIDTH, STEPS = 4, 16, 8, 8, 4096, 128, 40


class Cache:
    def __init__(self):
        shape = (2, BATCH, GROUPS, TOKENS, WIDTH)
        self.layers = [torch.randn(shape, device="cuda", dtype=torch.float16) for _ in range(LAYERS)]


def expand_heads(both):
    return both.repeat_interleave(REPEATS, dim=2)


def attend(query, both):
    keys, values = expand_heads(both).unbind(0)
    weights = torch.softmax(torch.matmul(query, keys.transpose(-1, -2)) * WIDTH ** -0.5, dim=-1)
    return torch.matmul(weights, values)


def decode(cache, query):
    for both in cache.layers:
        query = query + attend(query, both)
    return query


with torch.inference_mode():
    cache = Cache()
    query = torch.randn(BATCH, GROUPS * REPEATS, 1, WIDTH, device="cuda", dtype=torch.float16)
    for step in range(STEPS):
        query = decode(cache, query) * 0.5
        torch.cuda.synchronize()
        time.sleep(0.1)
each = 2 * BATCH * GROUPS * REPEATS * TOKENS * WIDTH * 2
print(json.dumps({"bytes": [each]}))
