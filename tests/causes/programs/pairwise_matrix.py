# cause: temporaries
# owner: pairwise
# change: chunk|smaller|reuse
# source: the kind of contrastive losses
import json
import torch

def pairwise(x):
    return (x[:, None, :] - x[None, :, :]).square().sum(-1)


x = torch.randn(3000, 128, device="cuda")
for _ in range(6):
    pairwise(x).sum().item()
size = 3000 * 3000 * 128 * 4
print(json.dumps({"bytes": [size, 2 * size]}))
