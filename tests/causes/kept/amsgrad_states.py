# cause: optimizer_state
# owner: step|_init_group|AdamW|adamw|train
# change: 8-bit|8bit|state|optimizer|Adafactor|amsgrad|offload|shard|SGD
# source: the kind of full fine-tuning with three states per parameter
import json
import torch


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = torch.nn.LayerNorm(width), torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def train(model, optimizer, steps):
    for step in range(steps):
        x = torch.randn(256, 4096, device="cuda")
        loss = (model(x) - x.flip(0)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(step, loss.item())


model = torch.nn.Sequential(*[Block(4096) for _ in range(3)]).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, amsgrad=True, fused=True)
train(model, optimizer, 12)
state = sum(t.numel() * t.element_size() for entry in optimizer.state.values() for t in entry.values() if t.is_cuda)
print(json.dumps({"bytes": [state]}))
