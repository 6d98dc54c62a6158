# cause: uneven_ranks
# owner: rank 2.*Block.forward|Block.forward.*rank 2
# heap: gpu0/torch
# change: length|balance|batch
# source: allenai/allennlp#2515 (kind): four ranks on two GPUs, the batches of one are longer
import job

rank = job.start_ranks(4)
import torch
import torch.distributed as dist

device = rank % 2
torch.cuda.set_device(device)
dist.init_process_group("gloo")


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


net = torch.nn.Sequential(*[Block(1024) for _ in range(6)]).cuda()
ddp = torch.nn.parallel.DistributedDataParallel(net, device_ids=[device])
optimizer = torch.optim.SGD(ddp.parameters(), lr=1e-3)
length = 12288 if rank == 2 else 4096 + 64 * rank
for _ in range(4):
    ddp(torch.randn(length, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
peaks = [None] * 4
dist.all_gather_object(peaks, torch.cuda.max_memory_allocated())
if rank == 0:
    job.report(*(peaks[2] - peaks[other] for other in (0, 1, 3)))
dist.destroy_process_group()
