"""A server that captures a CUDA graph for each batch size runs out of memory while it warms up.

Each graph has its own memory pool, so the buffers of one batch size cannot be used by the next.  With --share all
graphs use one pool; with --eager there are none.  The device is filled on purpose up to --room GiB first, so that the
failure comes quickly on any GPU.
"""
import argparse
import torch

nvtx = torch.cuda.nvtx
arguments = argparse.ArgumentParser()
arguments.add_argument("--eager", action="store_true", help="no graphs")
arguments.add_argument("--share", action="store_true", help="one memory pool for all graphs")
arguments.add_argument("--room", type=float, default=24, help="GiB that are left for the server")
arguments.add_argument("--width", type=int, default=8192)
arguments = arguments.parse_args()


@torch.no_grad()
def forward(layers, x):
    for number, layer in enumerate(layers):
        with nvtx.range(f"layer {number}"):
            x = torch.relu(layer(x))
    return x


def capture(layers, batch, pool):
    static_input = torch.zeros(batch, arguments.width, device="cuda")
    forward(layers, static_input)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        static_output = forward(layers, static_input)
    return graph, static_input, static_output


with nvtx.range("other tenant"):
    free, _ = torch.cuda.mem_get_info()
    other = torch.empty(max(0, free - int(arguments.room * 2**30)), dtype=torch.uint8, device="cuda")
with nvtx.range("model init"):
    layers = [torch.nn.Linear(arguments.width, arguments.width, device="cuda") for _ in range(8)]

pool = torch.cuda.graph_pool_handle() if arguments.share else None
served = []
for batch in [2**k * 1024 for k in range(7, -1, -1)] + list(range(1536, 65536, 4096)):
    with nvtx.range("capture" if not arguments.eager else "eager"), nvtx.range(f"batch {batch}"):
        if arguments.eager:
            forward(layers, torch.zeros(batch, arguments.width, device="cuda"))
        else:
            served.append(capture(layers, batch, pool))
torch.cuda.synchronize()
print(f"ready: {len(served)} graphs, {torch.cuda.max_memory_reserved() / 2**30:.2f} GiB reserved at most")
