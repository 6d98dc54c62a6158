# cause: growth
# owner: Scale.forward
# heap: gpu0/torch
# change: save_for_backward|cycle|keeps
# source: pytorch/pytorch#25340, #94990
import json
import torch

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.out = x * w
        ctx.x = x
        return ctx.out

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2, (gradient * ctx.x).sum()


inner, outer = torch.nn.Linear(1024, 1024).cuda(), torch.nn.Linear(1024, 1024).cuda()
scale = torch.nn.Parameter(torch.ones((), device="cuda"))
optimizer = torch.optim.SGD([*inner.parameters(), *outer.parameters(), scale], lr=1e-3)
import gc
gc.disable()
grew = 0
for step in range(20):
    before = torch.cuda.memory_allocated()
    outer(Scale.apply(inner(torch.randn(8192, 1024, device="cuda")), scale)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    grew = torch.cuda.memory_allocated() - before
print(json.dumps({"bytes": [grew, 20 * grew, 8192 * 1024 * 4]}))
