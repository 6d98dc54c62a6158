# cause: none
# source: a healthy program; nearly: holder
import json
import torch

weights = [torch.zeros(2048, 2048, device="cuda") for _ in range(40)]
with torch.no_grad():
    for _ in range(30):
        x = torch.randn(64, 2048, device="cuda")
        for weight in weights:
            x = x @ weight
