"""Recorded as h100-capture.zst: a server that captures one graph per batch size into one pool, largest first, as vLLM
does."""
import torch

nvtx = torch.cuda.nvtx
layers = [torch.nn.Linear(4096, 4096, device="cuda", dtype=torch.bfloat16) for _ in range(16)]
static = torch.zeros(512, 4096, device="cuda", dtype=torch.bfloat16)


@torch.no_grad()
def forward(x):
    for number, layer in enumerate(layers):
        with nvtx.range(f"layer {number}"):
            x = torch.relu(layer(x))
    return x


def capture(batch, pool):
    graph = torch.cuda.CUDAGraph()
    forward(static[:batch])
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, pool=pool):
        out = forward(static[:batch])
    graph.replay()
    return graph, out


pool = torch.cuda.graph_pool_handle()
with nvtx.range("warm up"):
    graphs = []
    for batch in [512, 384, 256, 128, 96, 64, 48, 32, 24, 16, 8, 4, 2, 1]:
        with nvtx.range(f"capture bs={batch}"):
            graphs.append(capture(batch, pool))
torch.cuda.synchronize()
print(len(graphs), torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
