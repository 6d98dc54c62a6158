# cause: none
# source: a healthy program; nearly: pinned
import torch

staging = torch.empty(16 << 20, dtype=torch.uint8, pin_memory=True)
for _ in range(30):
    batch = staging.to("cuda", non_blocking=True)
    batch.sum().item()
