# cause: none
# source: a healthy program; nearly: graph_per_shape
import json
import torch

net = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda().eval()
compiled = torch.compile(net, mode="reduce-overhead")
with torch.no_grad():
    for _ in range(12):
        torch.compiler.cudagraph_mark_step_begin()
        compiled(torch.randn(8192, 1024, device="cuda")).sum().item()
torch.cuda.synchronize()
print(json.dumps({"bytes": []}))
