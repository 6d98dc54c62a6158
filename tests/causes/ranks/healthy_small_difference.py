# cause: none
# source: a healthy program: rank 0 alone keeps 24 MiB of metrics, and a tenth more tokens; nearly: uneven_ranks
import job

rank = job.start_ranks(2)
import torch
import torch.distributed as dist

torch.cuda.set_device(rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


net = torch.nn.Sequential(*[Block(1024) for _ in range(4)]).cuda()
ddp = torch.nn.parallel.DistributedDataParallel(net, device_ids=[rank], gradient_as_bucket_view=True)
optimizer = torch.optim.SGD(ddp.parameters(), lr=1e-3)
metrics = torch.zeros(6 << 20, device="cuda") if rank == 0 else None
for _ in range(8):
    ddp(torch.randn(281 if rank == 0 else 256, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.barrier()
dist.destroy_process_group()
