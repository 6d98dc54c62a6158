# cause: none
# source: a healthy program; nearly: failed_attempt
import json
import torch

net = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]).cuda()


def evaluate(rows):
    with torch.no_grad():
        return net(torch.randn(rows, 2048, device="cuda")).mean().item()


def largest_batch(rows):
    while True:
        try:
            evaluate(rows)
            return rows
        except torch.cuda.OutOfMemoryError:
            pass  # the frames of the failed attempt end here
        rows //= 64


rows = largest_batch(1 << 25)
for _ in range(10):
    evaluate(min(rows, 4096))
print(json.dumps({"bytes": []}))
