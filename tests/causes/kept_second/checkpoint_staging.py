# cause: pinned
# owner: StagingArea|allocate|__init__|save
# change: pin|page.?lock|power|round|chunk|fewer|smaller|one buffer|reuse|share
# source: asynchronous checkpoints are copied into pinned staging buffers, one for each tensor; PyTorch rounds each buffer up to a power of two
import json
import time

import torch

TENSORS, ROWS, WIDTH = 12, 10240, 4096


class StagingArea:
    def __init__(self, state):
        self.buffers = {name: self.allocate(tensor) for name, tensor in state.items()}

    @staticmethod
    def allocate(tensor):
        return torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)

    def save(self, state):
        for name, tensor in state.items():
            self.buffers[name].copy_(tensor, non_blocking=True)
        torch.cuda.synchronize()
        return sum(buffer[0, 0].item() for buffer in self.buffers.values())


state = {f"layers.{number}.weight": torch.randn(ROWS, WIDTH, device="cuda") for number in range(TENSORS)}
staging = StagingArea(state)
for step in range(40):
    for tensor in state.values():
        tensor.mul_(0.999)
    if step % 8 == 7:
        staging.save(state)
    time.sleep(0.08)
asked = ROWS * WIDTH * 4
rounded = 1 << (asked - 1).bit_length()
print(json.dumps({"bytes": [TENSORS * rounded, TENSORS * asked, rounded, TENSORS * (rounded - asked)]}))
