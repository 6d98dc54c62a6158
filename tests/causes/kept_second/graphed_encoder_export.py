# cause: graph_pools_free
# owner: capture|Encoder|encode|pool|graph
# change: pool|graph|smaller|eager|capture|free|releas|reset|delete
# source: an encoder was captured as one CUDA graph; its temporaries stay reserved in the graph's pool, and a later eager export runs out of memory
import json
import time

import torch
import torch.nn.functional as F

TOKENS, WIDTH, INNER, LIMIT = 98304, 1024, 16384, 14 * 2**30


class Encoder:
    def __init__(self):
        self.weight = torch.randn(WIDTH, INNER, device="cuda", dtype=torch.bfloat16) * 0.03
        self.tokens = torch.randn(TOKENS, WIDTH, device="cuda", dtype=torch.bfloat16)
        self.graph = torch.cuda.CUDAGraph()

    def encode(self, tokens):
        wide = tokens @ self.weight
        active = F.gelu(wide)
        both = wide + active
        return both.mean(dim=1)

    def capture(self):
        self.encode(self.tokens[:256])
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.means = self.encode(self.tokens)

    def run(self, tokens):
        self.tokens[:len(tokens)].copy_(tokens)
        self.graph.replay()
        return self.means[:len(tokens)].clone()


def export(rows):
    table = torch.zeros(rows, WIDTH, device="cuda", dtype=torch.float32)
    return table.sum(dim=0)


torch.cuda.set_per_process_memory_fraction(LIMIT / torch.cuda.get_device_properties(0).total_memory)
with torch.inference_mode():
    encoder = Encoder()
    encoder.capture()
    try:
        for request in range(40):
            encoder.run(torch.ones(1024, WIDTH, device="cuda", dtype=torch.bfloat16))
            torch.cuda.synchronize()
            time.sleep(0.08)
        export(1536 * 1024)
    except torch.cuda.OutOfMemoryError:
        print(json.dumps({"bytes": [3 * TOKENS * INNER * 2]}), flush=True)
        raise
