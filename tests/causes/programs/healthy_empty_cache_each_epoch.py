# cause: none
# source: a healthy program; nearly: empty_cache
import json
import torch

net = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(4)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for epoch in range(3):
    for _ in range(6):
        net(torch.randn(4096, 4096, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.empty_cache()
print(json.dumps({"bytes": []}))
