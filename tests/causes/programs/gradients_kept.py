# cause: idle_gradients
# owner: gradients
# heap: gpu0/torch
# change: set_to_none
# source: karpathy/nanoGPT#71, MIC-DKFZ/nnUNet#1630
import json
import torch

width = 4096
net = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.GELU()) for _ in range(10)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for _ in range(6):
    net(torch.randn(8192, width, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
print(json.dumps({"bytes": [sum(p.grad.numel() * 4 for p in net.parameters())]}))
