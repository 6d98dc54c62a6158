# cause: none
# source: a healthy program
import torch

import time

weights = [torch.zeros(1 << 20, device="cuda") for _ in range(60)]
for _ in range(40):
    x = torch.randn(1 << 18, device="cuda")
    x.relu_().sum().item()
    time.sleep(0.02)
