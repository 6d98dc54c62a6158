# changed: each staging buffer has a header of 4 KiB, so PyTorch rounds it up to twice its size
# cause: blocks
# owner: stage
# change: pin|power of two
# larger: after
import json
import sys

import torch

run = sys.argv[1]
BUFFERS, BYTES = 12, 64 << 20


def stage(extra):
    return torch.empty(BYTES + extra, dtype=torch.uint8, pin_memory=True)


buffers = [stage(0 if run == "before" else 4096) for _ in range(BUFFERS)]
source = torch.randn(BYTES // 4, device="cuda")
for _ in range(3):
    for buffer in buffers:
        buffer[-BYTES:].copy_(source.view(torch.uint8), non_blocking=True)
torch.cuda.synchronize()
print(json.dumps({"bytes": [BUFFERS * BYTES, 2 * BUFFERS * BYTES], "peak": torch.cuda.max_memory_allocated()}))
