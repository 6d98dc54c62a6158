# cause: doubled_communicators
# owner: new_group|warm_up
# heap: gpu0/device
# change: group|communicator
# source: pytorch/pytorch#109983 (kind)
import json
import torch

import os
import torch.distributed as dist

os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29555", RANK="0", WORLD_SIZE="1")
torch.cuda.set_device(0)
dist.init_process_group("nccl", device_id=torch.device("cuda", 0))


def warm_up(group):
    dist.all_reduce(torch.zeros(1, device="cuda"), group=group)


groups = [dist.new_group([0]) for _ in range(4)]
for group in groups:
    warm_up(group)
torch.cuda.synchronize()
print(json.dumps({"bytes": []}))
dist.destroy_process_group()
