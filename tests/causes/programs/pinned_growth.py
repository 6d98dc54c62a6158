# cause: growth
# owner: stage
# heap: host/pinned
# change: reuse|bound|keeps
# source: pytorch/pytorch#95823 (kind)
import json
import torch

staged = []


def stage(batch):
    staged.append(torch.empty(16 << 20, dtype=torch.uint8, pin_memory=True))
    return staged[-1].to("cuda", non_blocking=True)


for batch in range(24):
    stage(batch).sum().item()
print(json.dumps({"bytes": [16 << 20, 24 * (16 << 20)]}))
