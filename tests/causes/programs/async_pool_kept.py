# cause: pool_kept
# owner: epoch
# heap: gpu0/pool
# change: threshold|empty_cache|trim|allocator
# source: pytorch/pytorch#188110, rapidsai/rmm#1245
import json
import os

os.environ["PYTORCH_ALLOC_CONF"] = os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "backend:cudaMallocAsync"
import torch

free, total = torch.cuda.mem_get_info()


def epoch():
    return [torch.empty(int(0.05 * total), dtype=torch.uint8, device="cuda") for _ in range(12)]


blocks = epoch()
torch.cuda.synchronize()
reserved = torch.cuda.memory_reserved()
del blocks
torch.cuda.synchronize()
import ctypes
cuda, pointer = ctypes.CDLL("libcudart.so.13"), ctypes.c_void_p()
cuda.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(int(0.2 * total)))
kept = torch.cuda.memory_reserved()
print(json.dumps({"bytes": [kept, reserved]}))
