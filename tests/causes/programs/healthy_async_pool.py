# cause: none
# source: a healthy program; nearly: pool_kept
import json
import os

os.environ["PYTORCH_ALLOC_CONF"] = os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "backend:cudaMallocAsync"
import torch

free, total = torch.cuda.mem_get_info()
weights = torch.empty(int(0.55 * total), dtype=torch.uint8, device="cuda")
for request in range(30):
    scratch = torch.empty(int(0.05 * total), dtype=torch.uint8, device="cuda")
    scratch.fill_(request)
torch.cuda.synchronize()
print(json.dumps({"bytes": []}))
