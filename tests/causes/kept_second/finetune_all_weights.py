# cause: optimizer_state
# owner: AdamW?|_init_group|step|optimizer|state
# change: 8.?bit|bnb|Adafactor|Lion|SGD|bf16|bfloat16|ZeRO|shard|offload|precision|optimizer
# source: fine-tuning of all weights of a large network with AdamW on one GPU; the two moments need twice the memory of the weights
import json
import time

import torch
from torch import nn

WIDTH, DEPTH, STEPS = 8192, 12, 16


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, hidden):
        return hidden + torch.tanh(self.dense(hidden))


def finetune(model, optimizer):
    for step in range(STEPS):
        batch = torch.randn(128, WIDTH, device="cuda")
        loss = (model(batch) - batch.roll(1, 0)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        time.sleep(0.15)


torch.backends.cuda.matmul.allow_tf32 = True
with torch.device("cuda"):
    model = nn.Sequential(*(Layer() for _ in range(DEPTH)))
finetune(model, torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True))
print(json.dumps({"bytes": [2 * DEPTH * WIDTH * WIDTH * 4]}))
