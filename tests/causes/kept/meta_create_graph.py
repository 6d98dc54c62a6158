# cause: growth
# owner: adapt|backward|deepcopy
# change: autograd.grad|create_graph|cycle|keeps|None
# source: pytorch/pytorch#1346 (kind), PyTorch's warning about backward(create_graph=True)
import copy
import json
import torch

WIDTH = 2048
base = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh(), torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh(),
                           torch.nn.Linear(WIDTH, 64)).cuda()


def sample_task():
    x = torch.randn(128, WIDTH, device="cuda")
    return x, torch.randn(128, 64, device="cuda")


def adapt(task):
    learner = copy.deepcopy(base)
    x, y = task
    loss = torch.nn.functional.mse_loss(learner(x), y)
    loss.backward(create_graph=True)
    penalty = sum(p.grad.square().sum() for p in learner.parameters())
    penalty.backward()
    with torch.no_grad():
        for p in learner.parameters():
            p -= 0.01 * p.grad
        return torch.nn.functional.mse_loss(learner(x), y).item()


used = []
for _ in range(40):
    adapt(sample_task())
    used.append(torch.cuda.memory_allocated())
per_task = (used[-1] - used[9]) // 30
print(json.dumps({"bytes": [per_task, 40 * per_task, sum(p.numel() * 4 for p in base.parameters())]}))
