# cause: none
# source: a healthy program
import json
import torch

table = torch.nn.Embedding(50_000, 768).cuda()
layers = torch.nn.Sequential(*[torch.nn.Linear(768, 768) for _ in range(60)]).cuda()
head = torch.nn.Linear(768, 50_000, bias=False).cuda()
optimizer = torch.optim.SGD([*table.parameters(), *layers.parameters(), *head.parameters()], lr=1e-3)
for _ in range(6):
    out = head(layers(table(torch.randint(50_000, (512,), device="cuda"))))
    torch.nn.functional.cross_entropy(out, torch.randint(50_000, (512,), device="cuda")).backward()
    optimizer.step()
    optimizer.zero_grad()
print(json.dumps({"bytes": []}))
