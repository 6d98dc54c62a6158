# cause: optimizer_state
# owner: step
# heap: gpu0/torch
# change: requires_grad|trainable|freeze
# source: huggingface/peft#1142 (kind)
import json
import torch

class LoRA(torch.nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base
        self.a = torch.nn.Parameter(torch.zeros(8, base.in_features))
        self.b = torch.nn.Parameter(torch.zeros(base.out_features, 8))

    def forward(self, x):
        return self.base(x) + x @ self.a.T @ self.b.T


net = torch.nn.Sequential(*[LoRA(torch.nn.Linear(4096, 4096)) for _ in range(12)]).cuda()
optimizer = torch.optim.AdamW(net.parameters())
for _ in range(5):
    net(torch.randn(512, 4096, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(json.dumps({"bytes": [2 * sum(p.numel() * 4 for p in net.parameters())]}))
