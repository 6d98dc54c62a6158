# cause: none
# source: a healthy program; nearly: doubled_communicators
import job

rank = job.start_ranks(2)
import torch
import torch.distributed as dist

torch.cuda.set_device(rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
own = [dist.new_group([member], backend="nccl") for member in range(2)][rank]
net = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(8)]).cuda()
ddp = torch.nn.parallel.DistributedDataParallel(net, device_ids=[rank])
optimizer = torch.optim.SGD(ddp.parameters(), lr=1e-3)
for _ in range(8):
    ddp(torch.randn(512, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    dist.all_reduce(torch.ones(1 << 20, device="cuda"), group=own)
dist.barrier()
dist.destroy_process_group()
