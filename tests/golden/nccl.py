"""Recorded as h200-nccl-rank0.zst and -rank1.zst by torchrun --nproc-per-node 2: two communicators and their
collectives."""
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(rank)
x = torch.ones(4 << 20, device=f"cuda:{rank}")                  # 16 MiB
with torch.cuda.nvtx.range("exchange"):
    for _ in range(3):
        dist.all_reduce(x)
    parts = [torch.empty_like(x) for _ in range(2)]             # 32 MiB
    dist.all_gather(parts, x)                                   # the collective itself needs another 32 MiB
dist.broadcast(x, 0, group=dist.new_group([0, 1]))
torch.cuda.synchronize()
dist.destroy_process_group()
