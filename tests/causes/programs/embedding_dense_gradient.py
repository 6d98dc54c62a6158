# cause: temporaries
# owner: Embedding
# heap: gpu0/torch
# change: sparse
# source: pytorch/pytorch (kind)
import json
import torch

table = torch.nn.Embedding(4_000_000, 256).cuda()
head = torch.nn.Linear(256, 16).cuda()
optimizer = torch.optim.SGD([*table.parameters(), *head.parameters()], lr=1e-3)
for _ in range(5):
    head(table(torch.randint(4_000_000, (4096,), device="cuda"))).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(json.dumps({"bytes": [4_000_000 * 256 * 4]}))
