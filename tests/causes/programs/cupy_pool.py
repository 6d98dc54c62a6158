# cause: other_pool
# owner: preprocess
# heap: gpu0/device
# change: free_all_blocks|allocator|pool
# source: cupy/cupy#7556, explosion/thinc#180
import json
import torch

import cupy

free, total = torch.cuda.mem_get_info()


def preprocess():
    parts = [cupy.zeros(int(0.05 * total), dtype=cupy.uint8) for _ in range(10)]
    return parts[0][:1 << 20].copy()


small = preprocess()
pool = cupy.get_default_memory_pool()
try:
    first = torch.empty(int(0.3 * total), dtype=torch.uint8, device="cuda")
    second = torch.empty(int(0.3 * total), dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError:
    pass
print(json.dumps({"bytes": [pool.total_bytes(), pool.total_bytes() - pool.used_bytes()]}))
