# cause: holder
# owner: load_dataset
# heap: gpu0/torch
# change: cpu|host|load
# source: kornia/kornia (kind)
import json
import torch

free, total = torch.cuda.mem_get_info()


def load_dataset():
    return [torch.empty(total // 64, dtype=torch.uint8, device="cuda") for _ in range(44)]


data = load_dataset()
net = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(8)]).cuda()
try:
    for _ in range(3):
        rows = int(total * 0.35 / (8 * 4096 * 4))
        net(torch.randn(rows, 4096, device="cuda")).square().mean().backward()
except torch.OutOfMemoryError:
    pass
print(json.dumps({"bytes": [44 * (total // 64)]}))
