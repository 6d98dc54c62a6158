# cause: optimizer_state
# owner: step
# heap: gpu0/torch
# change: 8 bit|8-bit|ZeRO|shard|second step
# source: bitsandbytes (kind)
import json
import torch

net = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(16)]).cuda()
optimizer = torch.optim.AdamW(net.parameters())
for _ in range(5):
    net(torch.randn(256, 4096, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(json.dumps({"bytes": [2 * sum(p.numel() * 4 for p in net.parameters())]}))
