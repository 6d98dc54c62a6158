# changed: all captured token buckets now share one memory pool handle; earlier each torch.cuda.graph capture got its own private pool
# cause: graph_pools
# owner: (?i)BucketRunner|record_bucket|record_all|GatedStack|GatedLayer
# change: (?i)graph|pool|captur|share|graph_pool_handle|private|bucket|largest|fewer|batch sizes
# larger: before
import json
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, INNER = 4096, 16384
BUCKETS = [8192, 7168, 6144, 5120, 4096, 3072, 2048, 1024]


class GatedLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(DIM)
        self.gate = nn.Linear(DIM, INNER, bias=False)
        self.up = nn.Linear(DIM, INNER, bias=False)
        self.down = nn.Linear(INNER, DIM, bias=False)

    def forward(self, x):
        h = self.norm(x)
        g = F.silu(self.gate(h))
        return x + self.down(g * self.up(h))


class GatedStack(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.layers = nn.ModuleList(GatedLayer() for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class BucketRunner:
    def __init__(self, model, handle):
        self.model = model
        self.handle = handle
        self.tokens = torch.zeros(max(BUCKETS), DIM, device="cuda", dtype=torch.bfloat16)
        self.recorded = {}

    def warm(self, size):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.model(self.tokens[:size])
        torch.cuda.current_stream().wait_stream(side)

    def record_bucket(self, size):
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g, pool=self.handle):
            out = self.model(self.tokens[:size])
        self.recorded[size] = (g, out)

    @torch.no_grad()
    def record_all(self):
        self.warm(BUCKETS[0])
        for size in BUCKETS:
            self.record_bucket(size)

    def run(self, x):
        n = x.shape[0]
        size = min(b for b in BUCKETS if b >= n)
        g, out = self.recorded[size]
        self.tokens[:n].copy_(x)
        g.replay()
        return out[:n].clone()


def pool_total():
    return sum(
        seg["total_size"]
        for seg in torch.cuda.memory_snapshot()
        if tuple(seg.get("segment_pool_id", (0, 0))) != (0, 0)
    )


def main():
    torch.manual_seed(2)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = GatedStack().eval()
    handle = None if sys.argv[1] == "before" else torch.cuda.graph_pool_handle()
    runner = BucketRunner(model, handle)
    runner.record_all()
    for n in (900, 3500, 8000, 6000):
        x = torch.randn(n, DIM, device="cuda", dtype=torch.bfloat16)
        print(n, f"{runner.run(x).float().abs().mean().item():.4f}")
    inner = [3 * b * INNER * 2 for b in BUCKETS]
    print(json.dumps({
        "bytes": [pool_total(), sum(inner) if handle is None else max(inner), sum(inner) - max(inner)],
        "peak": torch.cuda.max_memory_allocated(),
    }))


if __name__ == "__main__":
    main()
