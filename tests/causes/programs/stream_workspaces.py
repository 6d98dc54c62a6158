# cause: workspaces
# owner: worker|matmul|mm
# heap: gpu0/torch
# change: stream|workspace|CUBLAS
# source: pytorch/pytorch#99835 (kind)
import json
import torch

streams = [torch.cuda.Stream() for _ in range(24)]
a = torch.randn(1024, 1024, device="cuda")


def worker(stream):
    with torch.cuda.stream(stream):
        return a @ a


for stream in streams:
    worker(stream)
torch.cuda.synchronize()
print(json.dumps({"bytes": [24 * (32 << 20), 25 * (32 << 20), 24 * 8519680, 25 * 8519680]}))
