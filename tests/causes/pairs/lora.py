# changed: LoRA instead of training all parameters
# cause: optimizer_state
# owner: (?i)adamw?.step|optimizer
# change: train|requires_grad|parameters
# larger: before
import json
import sys

import torch

run = sys.argv[1]


class LoRA(torch.nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base
        self.a = torch.nn.Parameter(torch.zeros(8, base.in_features))
        self.b = torch.nn.Parameter(torch.zeros(base.out_features, 8))

    def forward(self, x):
        return self.base(x) + x @ self.a.T @ self.b.T


layers = [torch.nn.Linear(4096, 4096) for _ in range(12)]
if run == "after":
    for layer in layers:
        layer.requires_grad_(False)
    layers = [LoRA(layer) for layer in layers]
net = torch.nn.Sequential(*layers).cuda()
optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], fused=True)
for _ in range(5):
    net(torch.randn(512, 4096, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
base = 12 * (4096 * 4096 + 4096) * 4
print(json.dumps({"bytes": [2 * base, 2 * (base - 12 * 2 * 8 * 4096 * 4)], "peak": torch.cuda.max_memory_allocated()}))
