# cause: pinned
# owner: save_on_cpu|forward|pack
# heap: host/pinned
# change: pin|offload
# source: pytorch/pytorch#97986 (kind)
import json
import torch

class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


net = torch.nn.Sequential(*[Block(1024) for _ in range(6)]).cuda()
for _ in range(4):
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        net(torch.randn(8192, 1024, device="cuda")).square().mean().backward()
    net.zero_grad()
torch.cuda.synchronize()
print(json.dumps({"bytes": [torch.cuda.host_memory_stats()["allocated_bytes.peak"]]}))
