# changed: zero_grad keeps the gradients
# cause: gradients
# owner: gradients|Linear|backward|Backward
# change: set_to_none
# larger: after
import json
import sys

import torch

run = sys.argv[1]
net = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(4096, 4096), torch.nn.GELU()) for _ in range(10)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for _ in range(6):
    net(torch.randn(8192, 4096, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=run == "before")
print(json.dumps({"bytes": [sum(p.numel() * 4 for p in net.parameters())], "peak": torch.cuda.max_memory_allocated()}))
