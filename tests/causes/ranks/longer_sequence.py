# cause: uneven_ranks
# owner: rank 1.*Block.forward|Block.forward.*rank 1
# heap: gpu1/torch
# change: length|balance|batch
# source: allenai/allennlp#2515 (kind): the batches of one rank are longer
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


net = torch.nn.Sequential(*[Block(1024) for _ in range(6)]).cuda()
ddp = torch.nn.parallel.DistributedDataParallel(net, device_ids=[rank])
optimizer = torch.optim.SGD(ddp.parameters(), lr=1e-3)
length = 12288 if rank == 1 else 4096
for _ in range(6):
    ddp(torch.randn(length, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
peaks = [None, None]
dist.all_gather_object(peaks, torch.cuda.max_memory_allocated())
if rank == 0:
    job.report(peaks[1] - peaks[0])
dist.destroy_process_group()
