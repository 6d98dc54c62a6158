"""Recorded as h100-sleep.zst: a server's weights and KV cache are in the pool of a plug-in allocator, and their memory is released
while another model trains.

    gcc -shared -fPIC -I CUDA/include sleep_plugin.c -L CUDA/lib64/stubs -lcuda -o plugin.so
    python3 sleep.py ./plugin.so"""
import ctypes
import json
import sys
import time
import torch

MIB, GIB = 1 << 20, 1 << 30
WEIGHTS, KV = 1, 2
nvtx = torch.cuda.nvtx
plugin = ctypes.CDLL(sys.argv[1])
plugin.plugin_bytes.restype = ctypes.c_size_t


def mark(name):
    torch.cuda.synchronize()
    time.sleep(0.1)                                            # NVML is sampled every 10 ms
    free, total = torch.cuda.mem_get_info()
    stats = torch.cuda.memory_stats()
    nvtx.mark(name)
    print(json.dumps({"mark": name, "used": total - free, "allocated": stats["allocated_bytes.all.current"],
                      "reserved": stats["reserved_bytes.all.current"], "awake": plugin.plugin_bytes(1), "asleep": plugin.plugin_bytes(0)}))


def pool_of(tag):
    plugin.plugin_tag(tag)
    return torch.cuda.use_mem_pool(pool)


def take(count, size):
    return [torch.zeros(size, dtype=torch.uint8, device="cuda") for _ in range(count)]


torch.zeros(1, device="cuda")
allocator = torch.cuda.memory.CUDAPluggableAllocator(sys.argv[1], "my_malloc", "my_free")
pool = torch.cuda.MemPool(allocator.allocator())
mark("start")
with nvtx.range("weights"), pool_of(WEIGHTS):
    weights = [take(2, 100 * MIB) + take(2, 100 * 1024) for _ in range(20)]
with nvtx.range("kv cache"), pool_of(KV):
    cache = take(16, GIB)
    scratch = take(1, 256 * MIB)                               # stays in the pool as a free block
    del scratch
mark("awake")
with nvtx.range("sleep"):
    torch.cuda.synchronize()
    plugin.plugin_sleep(0)
mark("asleep")
with nvtx.range("train"):
    batch = take(23, GIB)
    model = torch.nn.Linear(8192, 8192, device="cuda")
    model(torch.randn(4096, 8192, device="cuda")).sum().backward()
mark("trained")
del batch, model
torch.cuda.empty_cache()
mark("given back")
with nvtx.range("wake"):
    with nvtx.range("weights"):
        plugin.plugin_wake(WEIGHTS)
    mark("weights awake")
    with nvtx.range("kv cache"):
        plugin.plugin_wake(KV)
mark("awake again")
print(torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
