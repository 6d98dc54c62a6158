# changed: the KV cache has room for twice as many tokens
# cause: kv_cache
# owner: (?i)cache
# change: bound|length
# larger: after
import json
import sys

import torch
import torch.nn.functional as F

run = sys.argv[1]
LAYERS, BATCH, HEADS, HEAD = 24, 8, 8, 128
WIDTH, BOUND = HEADS * HEAD, 4096 if run == "before" else 8192


class Cache:
    def __init__(self):
        shape = (2, BATCH, HEADS, BOUND, HEAD)
        self.layer = [torch.empty(shape, device="cuda", dtype=torch.bfloat16) for _ in range(LAYERS)]

    def update(self, layer, start, k, v):
        end = start + k.size(2)
        self.layer[layer][0, :, :, start:end] = k
        self.layer[layer][1, :, :, start:end] = v
        return (self.layer[layer][i, :, :, :end] for i in range(2))


class Layer(torch.nn.Module):
    def __init__(self, index):
        super().__init__()
        self.index, self.qkv, self.out = index, torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x, cache, start):
        q, k, v = (t.view(BATCH, -1, HEADS, HEAD).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1))
        k, v = cache.update(self.index, start, k, v)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=x.size(1) > 1)
        return x + self.out(y.transpose(1, 2).flatten(2))


@torch.inference_mode()
def generate(layers, cache, length, tokens):
    x = torch.randn(BATCH, length, WIDTH, device="cuda", dtype=torch.bfloat16)
    for position in [0, *range(length, length + tokens)]:
        for layer in layers:
            x = layer(x, cache, position)
        x = x[:, -1:]


layers = torch.nn.ModuleList(Layer(i) for i in range(LAYERS)).cuda().bfloat16()
cache = Cache()
for length in (512, 256, 384):
    generate(layers, cache, length, 8)
torch.cuda.synchronize()
added = LAYERS * 2 * BATCH * HEADS * 4096 * HEAD * 2
print(json.dumps({"bytes": [added, 2 * added], "peak": torch.cuda.max_memory_allocated()}))
