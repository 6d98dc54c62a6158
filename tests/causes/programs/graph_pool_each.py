# cause: graph_pools
# owner: capture
# heap: gpu0/torch
# change: pool
# source: pytorch/pytorch (kind)
import json
import torch

class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


net = torch.nn.Sequential(*[Block(1024) for _ in range(4)]).cuda().eval()
graphs = []
side = torch.cuda.Stream()
with torch.no_grad():
    with torch.cuda.stream(side):
        net(torch.randn(8192, 1024, device="cuda"))
    torch.cuda.synchronize()
    for batch in (1024, 2048, 4096, 8192):
        torch.cuda.nvtx.range_push(f"capture bs={batch}")
        x, graph = torch.zeros(batch, 1024, device="cuda"), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = net(x)
        graph.replay()
        graphs.append((graph, x, y))
        torch.cuda.nvtx.range_pop()
torch.cuda.synchronize()
print(json.dumps({"bytes": []}))
