# cause: none
# source: a healthy program; nearly: graph_pools graph_pools_free
import json
import torch

net = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(8)]).cuda()
inputs = [torch.randn(rows, 1024, device="cuda") for rows in (4096, 2048, 1024)]  # the largest first
pool, graphs = None, []
with torch.no_grad():
    for x in inputs:
        net(x)
    torch.cuda.synchronize()
    for x in inputs:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            net(x)
        pool = pool or graph.pool()
        graphs.append(graph)
for _ in range(20):
    for graph in graphs:
        graph.replay()
torch.cuda.synchronize()
print(json.dumps({"bytes": []}))
