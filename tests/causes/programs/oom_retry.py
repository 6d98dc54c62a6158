# cause: failed_attempt
# owner: attempt|Stack.forward
# heap: gpu0/torch
# change: exception|traceback|del
# source: pytorch/pytorch#18853
import json
import torch

free, total = torch.cuda.mem_get_info()
layers, unit = 20, 64 << 20


class Stack(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = torch.nn.ParameterList(torch.nn.Parameter(torch.ones(())) for _ in range(layers))

    def forward(self, x):
        for weight in self.weights:
            x = torch.nn.functional.gelu(x) * weight
        return x


net = Stack().cuda().half()
errors, held = [], 0


def attempt(batch):
    x = torch.ones(batch, unit // 2, dtype=torch.float16, device="cuda")
    net(x).sum().backward()


batch = int(1.3 * total / (2 * unit * layers))
for _ in range(2):
    try:
        attempt(batch)
        break
    except torch.OutOfMemoryError as error:
        errors.append(error)
        held = held or torch.cuda.memory_allocated()
        torch.cuda.empty_cache()
        batch //= 2
print(json.dumps({"bytes": [held]}))
