# cause: foreign_gpu
# owner: load_checkpoint
# heap: gpu0/torch
# change: map_location
# source: pytorch/pytorch#23138, huggingface/peft#2193
import os
import job

rank = job.start_ranks(2)
import torch
import torch.distributed as dist

torch.cuda.set_device(rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
net = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096, bias=False) for _ in range(16)]).cuda()
path = os.path.join(job.folder(), "checkpoint.pt")
if rank == 0:
    torch.save(net.state_dict(), path)
dist.barrier()


def load_checkpoint():
    return torch.load(path)


checkpoint = load_checkpoint()
net.load_state_dict(checkpoint)
ddp = torch.nn.parallel.DistributedDataParallel(net, device_ids=[rank])
optimizer = torch.optim.SGD(ddp.parameters(), lr=1e-3)
for _ in range(4):
    ddp(torch.randn(64, 4096, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.barrier()
if rank == 1:
    stats = torch.cuda.memory_stats(0)
    job.report(stats["allocated_bytes.all.peak"], stats["reserved_bytes.all.peak"])
dist.destroy_process_group()
