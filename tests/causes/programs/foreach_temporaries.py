# cause: temporaries
# owner: step
# heap: gpu0/torch
# change: foreach=False|fused=True
# source: pytorch/pytorch#101185 (kind)
import json
import torch

net = torch.nn.Sequential(*[torch.nn.Linear(8192, 8192, bias=False) for _ in range(12)]).cuda()
optimizer = torch.optim.AdamW(net.parameters(), foreach=True)
for _ in range(4):
    net(torch.randn(64, 8192, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(json.dumps({"bytes": [12 * 8192 * 8192 * 4]}))
