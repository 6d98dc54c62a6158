"""Recorded as h200-findings.zst: a stack limit that was raised, graphs that were each captured into a separate pool, and a
communicator that never ran a collective.

Prints PyTorch's numbers: the bytes of the graphs' pools, the largest first, and the peaks of allocated and of reserved bytes."""
import collections
import ctypes

import torch
import torch.distributed as dist

STACK_LIMIT = 0         # cudaLimitStackSize
nvtx = torch.cuda.nvtx
weight = torch.zeros(4096, 4096, device="cuda")


def raise_stack_limit():
    with open("/proc/self/maps", encoding="utf-8") as maps:
        cudart, = {line.split()[-1] for line in maps if "/libcudart.so" in line}
    assert ctypes.CDLL(cudart).cudaDeviceSetLimit(STACK_LIMIT, ctypes.c_size_t(16384)) == 0
    weight.add_(1)
    torch.cuda.synchronize()


def capture(batch):
    graph, x = torch.cuda.CUDAGraph(), torch.zeros(batch, 4096, device="cuda")
    with torch.cuda.graph(graph):
        out = torch.relu(x @ weight) @ weight
    graph.replay()
    return graph, x, out


with nvtx.range("raise the limit"):
    raise_stack_limit()
torch.zeros(1, 4096, device="cuda") @ weight        # initialises cuBLAS outside of a capture
with nvtx.range("init process group"):
    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1, device_id=torch.device("cuda:0"))
graphs = []
for batch in 8192, 4096, 2048:
    with nvtx.range(f"capture bs={batch}"):
        graphs.append(capture(batch))
torch.cuda.synchronize()
pools = collections.Counter()
for segment in torch.cuda.memory_snapshot():
    pools[tuple(segment["segment_pool_id"])] += segment["total_size"]
print(sorted((size for pool, size in pools.items() if pool != (0, 0)), reverse=True), torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
dist.destroy_process_group()
