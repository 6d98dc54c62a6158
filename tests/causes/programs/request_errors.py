# cause: growth
# owner: handle|decode
# change: traceback|exception|keeps
# source: the kind of inference servers
import json
import torch

errors = []


def decode(request):
    scratch = torch.zeros(16 << 20, dtype=torch.uint8, device="cuda")
    if request % 2:
        raise ValueError(f"request {request}: bad image")
    return scratch.sum().item()


def handle(request):
    try:
        decode(request)
    except ValueError as error:
        errors.append(error)


for request in range(60):
    handle(request)
print(json.dumps({"bytes": [16 << 20, 30 * (16 << 20)]}))
