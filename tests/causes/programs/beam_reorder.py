# cause: temporaries
# owner: reorder
# change: in place|preallocate|reuse|smaller
# source: the kind of beam search
import json
import torch

cache = [torch.zeros(64, 16, 1024, 64, device="cuda", dtype=torch.float16) for _ in range(12)]


def reorder(beams):
    return torch.stack(cache).index_select(1, beams).sum()


for _ in range(8):
    reorder(torch.randperm(64, device="cuda")).item()
size = 12 * cache[0].numel() * 2
print(json.dumps({"bytes": [size, 2 * size]}))
