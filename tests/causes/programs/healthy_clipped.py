# cause: none
# source: a healthy program; nearly: gradient_copies
import json
import torch

net = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(12)]).cuda()
optimizer = torch.optim.AdamW(net.parameters(), fused=True)
for _ in range(20):
    net(torch.randn(1024, 2048, device="cuda")).square().mean().backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    largest = max(p.grad.abs().max().item() for p in net.parameters())
    optimizer.step()
    optimizer.zero_grad()
print(json.dumps({"bytes": []}))
