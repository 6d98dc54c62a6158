# cause: other_process
# owner: infer0
# heap: gpu0/device
# change: other GPU|limit|own GPU|fewer
# source: RolnickLab/ami-data-companion#162, ultralytics/ultralytics#9189
import job

role = job.start_roles("infer0", "infer1", "infer2")
import torch

number = int(role[-1])
share = (0.6, 0.15, 0.3)[number]
total = torch.cuda.mem_get_info()[1]


def load_model():
    return torch.empty(total // 10, dtype=torch.uint8, device="cuda")


def infer():
    return torch.empty(int((share - 0.1) * total), dtype=torch.uint8, device="cuda")


if number:
    job.wait_for(f"infer{number - 1}.ready")
try:
    model = load_model()
    output = infer()
    if number == 0:
        job.report(torch.cuda.memory_reserved())
finally:
    job.mark(f"{role}.ready")
job.wait_for("infer2.ready")
