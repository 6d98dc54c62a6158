# cause: none
# source: a healthy program; nearly: idle_communicators
import job

rank = job.start_ranks(2)
import torch
import torch.distributed as dist

torch.cuda.set_device(rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
net = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(8)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for _ in range(8):
    net(torch.randn(512, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
total = torch.ones(1, device="cuda")
dist.all_reduce(total)
dist.destroy_process_group()
