# cause: temporaries
# owner: attend
# heap: gpu0/torch
# change: flash|scaled_dot_product|chunk|fused
# source: Dao-AILab/flash-attention (kind)
import json
import torch

def attend(q, k, v):
    scores = q @ k.transpose(-1, -2) / 8
    return scores.softmax(-1) @ v


project = torch.nn.Linear(1024, 3072).cuda()
for _ in range(4):
    x = torch.randn(2, 4096, 1024, device="cuda")
    q, k, v = (t.view(2, 4096, 16, 64).transpose(1, 2) for t in project(x).chunk(3, -1))
    attend(q, k, v).square().mean().backward()
    project.zero_grad()
size = 2 * 16 * 4096 * 4096 * 4
print(json.dumps({"bytes": [size, 2 * size, 3 * size]}))
