# cause: uneven_ranks
# owner: rank 1.*(Block.forward|Exchange)|(Block.forward|Exchange).*rank 1
# heap: gpu1/torch
# change: expert|balance|capacity|batch
# source: databricks/megablocks#154 (kind): the router sends most tokens to the experts of one rank
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


class Exchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, sent, received):
        ctx.counts = sent, received
        tokens = x.new_empty(sum(received), x.shape[1])
        dist.all_to_all_single(tokens, x, received, sent)
        return tokens

    @staticmethod
    def backward(ctx, gradient):
        sent, received = ctx.counts
        tokens = gradient.new_empty(sum(sent), gradient.shape[1])
        dist.all_to_all_single(tokens, gradient.contiguous(), sent, received)
        return tokens, None, None


expert = Block(1024).cuda()
optimizer = torch.optim.SGD(expert.parameters(), lr=1e-3)
sent = [4096, 28672]
received = [sent[rank]] * 2
for _ in range(6):
    x = torch.randn(sum(sent), 1024, device="cuda", requires_grad=True)
    expert(Exchange.apply(x, sent, received)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    del x
peaks = [None, None]
dist.all_gather_object(peaks, torch.cuda.max_memory_allocated())
if rank == 0:
    job.report(peaks[1] - peaks[0])
dist.destroy_process_group()
