# cause: instance
# owner: answer
# change: request|length|chunk
# source: the kind of inference servers
import json
import torch

weight = torch.randn(4096, 4096, device="cuda", dtype=torch.float16)


def answer(rows):
    scores = torch.empty(rows, 4096, device="cuda", dtype=torch.float32)
    return (scores.fill_(0.5)[:64] @ weight.float()).sum().item()


with torch.inference_mode():
    for request in range(40):
        answer(131072 if request == 27 else 4096)
print(json.dumps({"bytes": [131072 * 4096 * 4]}))
