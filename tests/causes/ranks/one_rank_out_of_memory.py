# cause: uneven_ranks
# owner: rank 1.*Attention.forward|Attention.forward.*rank 1
# heap: gpu1/torch
# change: length|balance|batch
# source: allenai/allennlp#2515 (kind): one rank gets a very long document and fails, the other one waits for it
import job

rank = job.start_ranks(2)
import torch
import torch.distributed as dist

torch.cuda.set_device(rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))


class Attention(torch.nn.Module):
    heads = 16

    def __init__(self, width):
        super().__init__()
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)

    def forward(self, x):
        length, width = x.shape
        q, k, v = self.qkv(x).view(length, 3, self.heads, -1).permute(1, 2, 0, 3)
        scores = torch.softmax(q @ k.transpose(1, 2), dim=-1)
        return x + self.out((scores @ v).transpose(0, 1).reshape(length, width))


net = torch.nn.Sequential(*[Attention(512) for _ in range(8)]).cuda()
ddp = torch.nn.parallel.DistributedDataParallel(net, device_ids=[rank])
optimizer = torch.optim.SGD(ddp.parameters(), lr=1e-3)
total = torch.cuda.mem_get_info()[1]
long_document = int((2 * total / (8 * Attention.heads * 4)) ** 0.5) // 64 * 64
peaks = [None, None]
try:
    for step in range(4):
        length = long_document if rank == 1 and step == 3 else 2048
        if step == 3:
            dist.all_gather_object(peaks, torch.cuda.max_memory_allocated())
        ddp(torch.randn(length, 512, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
except torch.OutOfMemoryError:
    job.report(torch.cuda.max_memory_allocated(), torch.cuda.max_memory_allocated() - peaks[0])
    raise
torch.cuda.synchronize()
dist.destroy_process_group()
