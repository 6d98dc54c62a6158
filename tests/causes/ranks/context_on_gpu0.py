# cause: foreign_gpu
# owner: gpu0
# heap: gpu0/device
# change: set_device|CUDA_VISIBLE_DEVICES
# source: pytorch/examples#969, pytorch/pytorch#135279
import job

rank = job.start_ranks(2)
import torch
import torch.distributed as dist


def free_of_gpu0():
    return torch.cuda.mem_get_info(0)[0]


def class_weights():
    return torch.ones(1024, device="cuda")  # before set_device: on GPU 0 in each rank


if rank == 0:
    weights = class_weights()
    before = free_of_gpu0()
    job.mark("measured")
    job.wait_for("touched")
    job.report(before - free_of_gpu0())
else:
    job.wait_for("measured")
    weights = class_weights()
    torch.cuda.synchronize()
    job.mark("touched")
torch.cuda.set_device(rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
net = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(8)]).cuda()
ddp = torch.nn.parallel.DistributedDataParallel(net, device_ids=[rank])
optimizer = torch.optim.SGD(ddp.parameters(), lr=1e-3)
for _ in range(4):
    (ddp(torch.randn(512, 1024, device="cuda")) * weights.to(rank)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.barrier()
dist.destroy_process_group()
