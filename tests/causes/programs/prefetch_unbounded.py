# cause: growth
# owner: fetch
# heap: gpu0/torch
# change: bound|queue|maxsize|keeps
# source: NVIDIA/apex#439 (kind)
import json
import torch

net = torch.nn.Linear(4096, 4096).cuda()
queue = []


def fetch():
    queue.append(torch.zeros(8192, 1024, device="cuda"))


def step():
    fetch()
    fetch()
    batch = queue.pop(0)
    net(batch.view(2048, 4096)).sum().backward()
    net.zero_grad()


for _ in range(30):
    step()
print(json.dumps({"bytes": [8192 * 1024 * 4, 30 * 8192 * 1024 * 4]}))
