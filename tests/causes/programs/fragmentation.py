# cause: fragmentation
# owner: rope_cache
# heap: gpu0/torch
# change: expandable_segments
# source: pytorch/pytorch#112024 (kind)
import json
import torch

free, total = torch.cuda.mem_get_info()


def rope_cache():
    return torch.empty(2 << 20, dtype=torch.uint8, device="cuda")


pinned, blocks = [], []
count = int(total * 0.5) // (64 << 20)
for _ in range(count):
    blocks.append(torch.empty(30 << 20, dtype=torch.uint8, device="cuda"))
    pinned.append(rope_cache())
    blocks.append(torch.empty(32 << 20, dtype=torch.uint8, device="cuda"))
blocks.clear()
try:
    batch = torch.empty(int(total * 0.6), dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError:
    pass
print(json.dumps({"bytes": [count * (62 << 20)]}))
