# cause: none
# source: a healthy program
import json
import torch

net = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(4)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
batches = [torch.empty(12 << 20, pin_memory=True) for _ in range(4)]
for step in range(12):
    batch = batches[step % 4].fill_(step).cuda(non_blocking=True)
    net(batch.view(-1, 4096)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
torch.cuda.synchronize()
print(json.dumps({"bytes": []}))
