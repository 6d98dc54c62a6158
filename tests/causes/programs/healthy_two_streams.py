# cause: none
# source: a healthy program; nearly: workspaces
import json
import torch

streams = [torch.cuda.Stream() for _ in range(2)]
a = torch.randn(4096, 4096, device="cuda")
for step in range(40):
    with torch.cuda.stream(streams[step % 2]):
        (a @ a).sum()
torch.cuda.synchronize()
print(json.dumps({"bytes": []}))
