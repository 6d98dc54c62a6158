# changed: the optimizer keeps its moments in float32 instead of bfloat16
# cause: element_size
# owner: (?i)step
# change: element|dtype
# larger: after
import json
import sys

import torch

run = sys.argv[1]
WIDTH, LAYERS = 4096, 24
DTYPE = torch.bfloat16 if run == "before" else torch.float32


class Moments(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 1e-5})

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            state = self.state[p]
            if not state:
                state["first"], state["second"] = (torch.zeros_like(p, dtype=DTYPE) for _ in range(2))
            state["first"].lerp_(p.grad.to(DTYPE), 0.1)
            state["second"].mul_(0.99).addcmul_(p.grad.to(DTYPE), p.grad.to(DTYPE), value=0.01)
            p.sub_((state["first"] / (state["second"].sqrt() + 1e-8)).to(p.dtype), alpha=1e-5)


net = torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)]).cuda().bfloat16()
optimizer = Moments(net.parameters())
for _ in range(5):
    net(torch.randn(256, WIDTH, device="cuda", dtype=torch.bfloat16)).float().square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
torch.cuda.synchronize()
elements = 2 * LAYERS * WIDTH * WIDTH
print(json.dumps({"bytes": [2 * elements, 4 * elements], "peak": torch.cuda.max_memory_allocated()}))
