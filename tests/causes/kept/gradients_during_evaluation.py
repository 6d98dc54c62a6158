# cause: idle_gradients
# owner: backward|train_epoch
# change: set_to_none|zero_grad
# source: the kind of loops that call zero_grad() only at the start of the next training step
import json
import torch

WIDTH = 8192
model = torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH) for _ in range(6)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)


def train_epoch(steps):
    for _ in range(steps):
        x = torch.randn(64, WIDTH, device="cuda")
        optimizer.zero_grad()
        (model(x) - x).square().mean().backward()
        optimizer.step()


@torch.inference_mode()
def evaluate(batches):
    total = 0
    for _ in range(batches):
        x = torch.randn(8192, WIDTH, device="cuda")
        total += (model(x) - x).abs().mean().item()
    return total / batches


for epoch in range(4):
    train_epoch(8)
    print(epoch, evaluate(6))
print(json.dumps({"bytes": [sum(p.grad.numel() * 4 for p in model.parameters())]}))
