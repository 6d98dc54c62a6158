# cause: none
# source: a healthy program
import json
import torch

import random

random.seed(0)
net = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(4)]).cuda().half().eval()
with torch.inference_mode():
    for request in range(60):
        net(torch.randn(random.randint(8192, 24576), 1024, device="cuda", dtype=torch.float16)).sum().item()
print(json.dumps({"bytes": []}))
