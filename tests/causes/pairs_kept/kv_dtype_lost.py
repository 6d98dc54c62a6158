# changed: the KV cache is made without dtype=, so it has float32 instead of bfloat16
# cause: element_size
# owner: (?i)kv_?cache|static_?cache|allocate|slots
# change: (?i)dtype|bfloat16|bf16|half|fp16|fp8|float32|fp32|element|precision|type
# larger: after
import json
import sys

import torch
import torch.nn.functional as F

run = sys.argv[1]
LAYERS, BATCH, KV_HEADS, HEADS, BOUND, HEAD = 16, 16, 4, 16, 4096, 128
WIDTH = HEADS * HEAD


class KVCache:
    """Slots for all the tokens that a batch may reach."""

    def __init__(self, **options):
        shape = (BATCH, KV_HEADS, BOUND, HEAD)
        self.keys = [torch.zeros(shape, **options) for _ in range(LAYERS)]
        self.values = [torch.zeros(shape, **options) for _ in range(LAYERS)]

    def update(self, layer, start, k, v):
        end = start + k.size(2)
        self.keys[layer][:, :, start:end] = k
        self.values[layer][:, :, start:end] = v
        return self.keys[layer][:, :, :end].to(k.dtype), self.values[layer][:, :, :end].to(v.dtype)


class Layer(torch.nn.Module):
    def __init__(self, index):
        super().__init__()
        self.index = index
        self.q = torch.nn.Linear(WIDTH, WIDTH, bias=False)
        self.kv = torch.nn.Linear(WIDTH, 2 * KV_HEADS * HEAD, bias=False)
        self.out = torch.nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x, cache, start):
        batch, length, _ = x.shape
        q = self.q(x).view(batch, length, HEADS, HEAD).transpose(1, 2)
        k, v = self.kv(x).view(batch, length, 2 * KV_HEADS, HEAD).transpose(1, 2).chunk(2, dim=1)
        k, v = cache.update(self.index, start, k, v)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1, enable_gqa=True)
        return x + self.out(y.transpose(1, 2).reshape(batch, length, WIDTH))


class Server:
    def __init__(self):
        with torch.device("cuda"):
            self.layers = torch.nn.ModuleList(Layer(index) for index in range(LAYERS)).to(torch.bfloat16)
        self.cache = KVCache(device="cuda") if run == "after" else KVCache(device="cuda", dtype=torch.bfloat16)

    def run_layers(self, x, start):
        for layer in self.layers:
            x = layer(x, self.cache, start)
        return x

    @torch.inference_mode()
    def generate(self, prompt, tokens):
        x = self.run_layers(prompt, 0)[:, -1:]
        for position in range(prompt.size(1), prompt.size(1) + tokens):
            x = F.normalize(self.run_layers(x, position), dim=-1)
        return x


server = Server()
for length in (256, 192, 320):
    server.generate(torch.randn(BATCH, length, WIDTH, device="cuda", dtype=torch.bfloat16), 16)
torch.cuda.synchronize()
elements = LAYERS * 2 * BATCH * KV_HEADS * BOUND * HEAD
print(json.dumps({"bytes": [2 * elements, 4 * elements], "peak": torch.cuda.max_memory_allocated()}))
