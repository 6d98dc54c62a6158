# cause: gradient_copies
# owner: retrieve_gradient|pc_backward|project|flatten
# change: cop|in place|fewer|CPU|clone|accumulate|bf16|half
# source: WeiChengTseng/Pytorch-PCGrad#2, tianheyu927/PCGrad#4
import copy
import json
import random
import torch

TASKS, WIDTH = 5, 4096
trunk = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU()).cuda()
heads = torch.nn.ModuleList([torch.nn.Linear(WIDTH, 16) for _ in range(TASKS)]).cuda()
optimizer = torch.optim.SGD(trunk.parameters(), lr=1e-3)


def retrieve_gradient():
    return torch.cat([p.grad.flatten() for p in trunk.parameters()])


def project(gradients):
    projected = copy.deepcopy(gradients)
    for mine in projected:
        for other in random.sample(gradients, len(gradients)):
            shared = mine @ other
            if shared < 0:
                mine.sub_(other, alpha=(shared / other.square().sum()).item())
    return projected


def assign(gradient):
    first = 0
    for p in trunk.parameters():
        p.grad = gradient[first:first + p.numel()].view_as(p)
        first += p.numel()


def pc_backward(losses):
    gradients = []
    for i, loss in enumerate(losses):
        optimizer.zero_grad()
        loss.backward(retain_graph=i + 1 < len(losses))
        gradients.append(retrieve_gradient())
    projected = project(gradients)
    for gradient in projected[1:]:
        projected[0].add_(gradient)
    assign(projected[0])


def train_step():
    hidden = trunk(torch.randn(512, WIDTH, device="cuda"))
    pc_backward([(head(hidden) - torch.randn(512, 16, device="cuda")).square().mean() for head in heads])
    optimizer.step()
    optimizer.zero_grad()


for _ in range(12):
    train_step()
one = sum(p.numel() * 4 for p in trunk.parameters())
print(json.dumps({"bytes": [TASKS * one, 2 * TASKS * one]}))
