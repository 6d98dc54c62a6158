# cause: growth
# owner: train_step|LSTM
# heap: gpu0/torch
# change: detach|truncat|keeps
# source: pytorch/pytorch#2198 (kind)
import json
import torch

cell = torch.nn.LSTM(512, 1024).cuda()
state = None
total = 0


def train_step():
    global state, total
    out, state = cell(torch.randn(32, 64, 512, device="cuda"), state)
    total = total + out.square().mean()


grew = 0
for _ in range(20):
    before = torch.cuda.memory_allocated()
    train_step()
    grew = torch.cuda.memory_allocated() - before
print(json.dumps({"bytes": [grew, 20 * grew]}))
