# changed: the reference model of a reinforcement step lost its no_grad
# cause: activations
# owner: Block.forward|reference|score
# change: no_grad|inference_mode|checkpoint
# larger: after
import contextlib
import json
import sys

import torch

run = sys.argv[1]
WIDTH, LAYERS, TOKENS = 2048, 12, 16384


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


def model():
    return torch.nn.Sequential(*[Block() for _ in range(LAYERS)]).cuda().bfloat16()


def score(net, x):
    return net(x).float().mean(dim=-1)


policy, reference = model(), model()
optimizer = torch.optim.SGD(policy.parameters(), lr=1e-5)
for _ in range(5):
    x = torch.randn(TOKENS, WIDTH, device="cuda", dtype=torch.bfloat16)
    with torch.no_grad() if run == "before" else contextlib.nullcontext():
        expected = score(reference, x)
    loss = (score(policy, x) - expected.detach()).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    del loss, expected
torch.cuda.synchronize()
saved = LAYERS * TOKENS * (WIDTH + 2 * 4 * WIDTH) * 2
print(json.dumps({"bytes": [saved, 2 * saved], "peak": torch.cuda.max_memory_allocated()}))
