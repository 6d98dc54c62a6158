# cause: growth
# owner: after_step|watch_noise|step
# change: item|scalar|keep|kept|hold|list|history|bound|limit|detach|CPU|host|clear|drop|remov|releas|free|append
# source: a training loop that measures the gradient noise scale from the flattened gradients of all steps, and only needs the last two
import json
import time

import torch
from torch import nn

WIDTH, DEPTH, STEPS = 4096, 4, 26


def watch_noise(optimizer):
    history, scales = [], []
    parameters = [p for group in optimizer.param_groups for p in group["params"]]

    def after_step(*_):
        flat = torch.cat([p.grad.reshape(-1) for p in parameters])
        history.append(flat)
        if len(history) > 1:
            same = torch.dot(history[-1], history[-2]).item()
            scales.append(torch.dot(flat, flat).item() / (abs(same) + 1e-9))

    optimizer.register_step_post_hook(after_step)
    return scales


model = nn.Sequential(*(layer for _ in range(DEPTH) for layer in (nn.Linear(WIDTH, WIDTH, bias=False), nn.Tanh()))).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
scales = watch_noise(optimizer)
for step in range(STEPS):
    batch = torch.randn(512, WIDTH, device="cuda")
    loss = (model(batch) - batch).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    time.sleep(0.2)
flat_size = DEPTH * WIDTH * WIDTH * 4
print(json.dumps({"bytes": [flat_size, STEPS * flat_size, (STEPS - 1) * flat_size]}))
