# cause: local_memory
# owner: local memory|stack|kernel|limit
# change: stack|cudaLimitStackSize|CU_LIMIT_STACK_SIZE|limit|local|spill|register|recurs
# source: a ray tracer raises the stack limit of GPU threads for deep recursion, and the driver reserves that stack for every thread that can run at once
import ctypes
import json
import time

import torch

STACK, CU_LIMIT_STACK_SIZE = 48 * 1024, 0


def allow_recursion(size):
    driver = ctypes.CDLL("libcuda.so.1")
    status = driver.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, ctypes.c_size_t(size))
    if status != 0:
        raise RuntimeError(f"cuCtxSetLimit failed: {status}")


def trace(rays, walls):
    for _ in range(8):
        rays = torch.nn.functional.normalize(rays @ walls, dim=-1)
    return rays.abs().mean().item()


rays = torch.randn(1_000_000, 64, device="cuda")
walls = torch.randn(64, 64, device="cuda")
trace(rays, walls)
torch.cuda.synchronize()
before, _ = torch.cuda.mem_get_info()
allow_recursion(STACK)
for frame in range(40):
    trace(rays, walls)
    time.sleep(0.08)
after, _ = torch.cuda.mem_get_info()
device = torch.cuda.get_device_properties(0)
threads = device.multi_processor_count * device.max_threads_per_multi_processor
print(json.dumps({"bytes": [threads * STACK, before - after]}))
