# cause: growth
# owner: evaluate|gather
# heap: gpu0/torch
# change: cpu|no_grad|detach|item
# source: huggingface/transformers#7232 (kind): rank 0 keeps the predictions of all ranks on its GPU
import job

rank = job.start_ranks(2)
import torch
import torch.distributed as dist

torch.cuda.set_device(rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
net = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(4)]).cuda()
predictions = []


def gather(outputs):
    parts = [torch.empty_like(outputs) for _ in range(2)] if rank == 0 else None
    dist.gather(outputs, parts)
    return parts or []


@torch.no_grad()
def evaluate():
    for _ in range(20):
        predictions.extend(gather(net(torch.randn(4096, 4096, device="cuda"))))


evaluate()
if rank == 0:
    job.report(sum(part.nbytes for part in predictions) // 20, sum(part.nbytes for part in predictions))
dist.barrier()
dist.destroy_process_group()
