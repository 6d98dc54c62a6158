# cause: temporaries
# owner: split_k
# heap: gpu0/torch
# change: scratch|fewer|reuse|splits
# source: triton-lang/triton (kind)
import json
import torch

def split_k(a, b, splits):
    scratch = torch.empty(splits, a.shape[0], b.shape[1], device="cuda")
    for i, (left, right) in enumerate(zip(a.chunk(splits, 1), b.chunk(splits, 0))):
        torch.mm(left, right, out=scratch[i])
    return scratch.sum(0)


a, b = torch.randn(8192, 4096, device="cuda"), torch.randn(4096, 8192, device="cuda")
for _ in range(6):
    split_k(a, b, 16).sum().item()
print(json.dumps({"bytes": [16 * 8192 * 8192 * 4]}))
