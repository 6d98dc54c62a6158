# cause: other_process
# owner: without a log|not recorded
# heap: gpu0/device
# change: nvidia-smi|other GPU|limit|own GPU
# source: a process that memprof does not record holds most of the GPU (kind)
import job

role = job.start_roles("server", "trainer", unrecorded=("server",))
import torch

total = torch.cuda.mem_get_info()[1]


def serve():
    before = torch.cuda.mem_get_info()[0]
    cache = torch.empty(int(0.65 * total), dtype=torch.uint8, device="cuda")
    job.report(before - torch.cuda.mem_get_info()[0])
    job.mark("serving")
    job.wait_for("failed")
    return cache


def train():
    job.wait_for("serving")
    weights = torch.empty(total // 10, dtype=torch.uint8, device="cuda")
    batch = torch.empty(int(0.3 * total), dtype=torch.uint8, device="cuda")
    return weights, batch


if role == "server":
    serve()
else:
    try:
        train()
    finally:
        job.mark("failed")
