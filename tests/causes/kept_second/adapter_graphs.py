# cause: graph_pools
# owner: AdapterRunner|capture|__init__|start_adapters|pool
# change: pool|share|one graph|graph_pool_handle
# source: a server that captures one CUDA graph for each LoRA adapter, each in a memory pool of its own
import json
import time

import torch

ADAPTERS, TOKENS, WIDTH, INNER, RANK = 8, 32768, 2048, 16384, 16


class Base:
    def __init__(self):
        self.up = torch.randn(WIDTH, INNER, device="cuda", dtype=torch.bfloat16) * 0.02
        self.down = torch.randn(INNER, WIDTH, device="cuda", dtype=torch.bfloat16) * 0.01
        self.request = torch.zeros(TOKENS, WIDTH, device="cuda", dtype=torch.bfloat16)


class AdapterRunner:
    def __init__(self, base):
        self.base = base
        self.left = torch.randn(WIDTH, RANK, device="cuda", dtype=torch.bfloat16) * 0.02
        self.right = torch.randn(RANK, WIDTH, device="cuda", dtype=torch.bfloat16) * 0.02
        self.graph = torch.cuda.CUDAGraph()
        self.capture()

    def capture(self):
        with torch.cuda.graph(self.graph):
            self.reply = self.compute(self.base.request)

    def compute(self, tokens):
        inner = (tokens @ self.base.up).relu_()
        reply = inner @ self.base.down
        return reply.addmm_(tokens @ self.left, self.right)

    def run(self, tokens):
        self.base.request[:len(tokens)].copy_(tokens)
        self.graph.replay()
        return self.reply[:len(tokens)].float().mean().item()


def start_adapters(base):
    return {f"adapter-{number}": AdapterRunner(base) for number in range(ADAPTERS)}


with torch.inference_mode():
    base = Base()
    torch.cuda.synchronize()
    small = base.request[:64] @ base.up
    small = small @ base.down
    runners = start_adapters(base)
    for request in range(60):
        runners[f"adapter-{request % ADAPTERS}"].run(torch.ones(512, WIDTH, device="cuda", dtype=torch.bfloat16))
        time.sleep(0.05)
pool = TOKENS * (INNER + WIDTH) * 2
workspace = 32 * 2**20  # of cuBLAS, if the graphs' pools have it
print(json.dumps({"bytes": [ADAPTERS * pool, ADAPTERS * (pool + workspace), pool]}))
