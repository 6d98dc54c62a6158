"""Data-parallel training on every GPU of the host: torchrun --nproc-per-node 2 train_ddp.py

At the end each rank prints PyTorch's own peaks, for comparison with memprof's.
"""
import torch
import torch.distributed as dist

nvtx = torch.cuda.nvtx
dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(rank)
with nvtx.range("model init"):
    model = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(8)]).cuda()
    model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank])
    optimizer = torch.optim.AdamW(model.parameters())
for _ in range(10):
    with nvtx.range("step"):
        with nvtx.range("forward"):
            loss = model(torch.randn(256, 4096, device="cuda")).square().mean()
        with nvtx.range("backward"):
            loss.backward()
        with nvtx.range("optimizer"):
            optimizer.step()
            optimizer.zero_grad()
with nvtx.range("metrics"):
    group = dist.new_group(list(range(dist.get_world_size())))
    dist.all_reduce(loss.detach(), group=group)
torch.cuda.synchronize()
stats = torch.cuda.memory_stats()
print(f"rank {rank}: allocated {stats['allocated_bytes.all.peak']} reserved {stats['reserved_bytes.all.peak']} B at most", flush=True)
dist.destroy_process_group()
