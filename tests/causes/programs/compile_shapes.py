# cause: graph_per_shape
# owner: partition|CUDAGraph|record|capture
# heap: gpu0/torch
# change: dynamic|shape|pad|mark
# source: pytorch/pytorch#188150, #128424
import json
import torch

import os

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "4")
net = torch.nn.Sequential(torch.nn.Linear(512, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 512)).cuda().eval()
compiled = torch.compile(net, mode="reduce-overhead")
with torch.no_grad():
    for rows in (4096, 5000, 6000, 7000):
        for _ in range(3):
            torch.compiler.cudagraph_mark_step_begin()
            compiled(torch.randn(rows, 512, device="cuda")).sum().item()
torch.cuda.synchronize()
print(json.dumps({"bytes": []}))
