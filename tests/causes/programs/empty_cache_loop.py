# cause: empty_cache
# owner: train_step
# heap: gpu0/torch
# change: empty_cache
# source: agemagician/ProtTrans#153
import json
import torch

net = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(6)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)


def train_step():
    net(torch.randn(16384, 4096, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    torch.cuda.empty_cache()


for _ in range(20):
    train_step()
print(json.dumps({"bytes": []}))
