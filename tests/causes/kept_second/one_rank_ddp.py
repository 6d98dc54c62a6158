# cause: gradient_copies
# owner: DistributedDataParallel|DDP|Reducer|bucket|backward|gradient
# change: gradient_as_bucket_view|bucket
# source: a job that is wrapped in DistributedDataParallel with its default options, debugged on one GPU
import json
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WIDTH, DEPTH, STEPS = 8192, 8, 16


def build():
    with torch.device("cuda"):
        layers = []
        for _ in range(DEPTH):
            layers += [nn.Linear(WIDTH, WIDTH, bias=False), nn.Tanh()]
        return DistributedDataParallel(nn.Sequential(*layers), device_ids=[0])


def train(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for step in range(STEPS):
        batch = torch.randn(128, WIDTH, device="cuda")
        loss = (model(batch) - batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        time.sleep(0.15)


torch.cuda.set_device(0)
dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
train(build())
dist.destroy_process_group()
print(json.dumps({"bytes": [DEPTH * WIDTH * WIDTH * 4]}))
