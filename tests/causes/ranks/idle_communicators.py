# cause: idle_communicators
# owner: communicators|gpu
# heap: gpu0/device
# change: group|communicator
# source: a trainer makes groups for features that are switched off
import job

rank = job.start_ranks(2)
import torch
import torch.distributed as dist

torch.cuda.set_device(rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
dist.all_reduce(torch.ones(1 << 20, device="cuda"))
torch.cuda.synchronize()
before = torch.cuda.mem_get_info()[0]
unused = [dist.new_group([0, 1], backend="nccl") for _ in range(4)]  # device_id: made at once
torch.cuda.synchronize()
job.report(before - torch.cuda.mem_get_info()[0])
net = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(8)]).cuda()
ddp = torch.nn.parallel.DistributedDataParallel(net, device_ids=[rank])
optimizer = torch.optim.SGD(ddp.parameters(), lr=1e-3)
for _ in range(8):
    ddp(torch.randn(512, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.barrier()
dist.destroy_process_group()
