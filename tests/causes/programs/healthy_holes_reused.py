# cause: none
# source: a healthy program; nearly: fragmentation
import json
import torch

MIB = 1 << 20
tables = [torch.empty((8 + i % 4) * MIB, dtype=torch.uint8, device="cuda") for i in range(200)]
for _ in range(10):  # every second one is replaced by one of the same size, which fits the hole
    for i in range(0, 200, 2):
        tables[i] = None
    for i in range(0, 200, 2):
        tables[i] = torch.empty((8 + i % 4) * MIB, dtype=torch.uint8, device="cuda")
torch.cuda.synchronize()
print(json.dumps({"bytes": []}))
