# changed: each batch size has a CUDA graph with its own memory pool
# cause: graph_pools
# owner: (?i)capture|graph
# change: pool
# larger: after
import json
import sys

import torch

run = sys.argv[1]


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


net = torch.nn.Sequential(*[Block(1024) for _ in range(4)]).cuda().eval()
sizes = (1024, 2048, 4096, 6144, 8192)
graphs = {}


def capture(batch):
    x, graph = torch.zeros(batch, 1024, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x)
    return graph, x, y


def infer(batch):
    if run == "before":
        return net(torch.zeros(batch, 1024, device="cuda"))
    if batch not in graphs:
        graphs[batch] = capture(batch)
    graph, _, y = graphs[batch]
    graph.replay()
    return y


side = torch.cuda.Stream()
with torch.no_grad():
    with torch.cuda.stream(side):
        net(torch.randn(8192, 1024, device="cuda"))
    torch.cuda.synchronize()
    for _ in range(4):
        for batch in sizes:
            infer(batch)
torch.cuda.synchronize()
pools = [segment["total_size"] for segment in torch.cuda.memory_snapshot() if tuple(segment["segment_pool_id"]) != (0, 0)]
print(json.dumps({"bytes": [sum(pools)], "peak": torch.cuda.max_memory_reserved()}))
