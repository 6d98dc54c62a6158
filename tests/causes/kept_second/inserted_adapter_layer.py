# cause: activations
# owner: layers\.0|layers\[0\]|\b0\b|Mixer|forward
# change: checkpoint|recompute|siblings|other (layers|modules)
# source: fine-tuning code wraps every layer for checkpointing, and later inserts one more layer of the same class in front, which stays unwrapped
import json
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

LAYERS, WIDTH, FACTOR, TOKENS, STEPS = 12, 1024, 8, 65536, 8


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, FACTOR * WIDTH)
        self.down = nn.Linear(FACTOR * WIDTH, WIDTH)

    def forward(self, hidden):
        return hidden + self.down(F.gelu(self.up(self.norm(hidden))))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Mixer() for _ in range(LAYERS))

    def forward(self, hidden):
        for layer in self.layers:
            hidden = layer(hidden)
        return hidden


def save_memory(network):
    for layer in network.layers:
        def recomputed(hidden, original=layer.forward):
            return checkpoint(original, hidden, use_reentrant=False)
        layer.forward = recomputed


network = Network()
save_memory(network)
network.layers.insert(0, Mixer())
network.to("cuda", torch.bfloat16)
optimizer = torch.optim.SGD(network.parameters(), lr=1e-4)
for step in range(STEPS):
    batch = torch.randn(TOKENS, WIDTH, device="cuda", dtype=torch.bfloat16)
    loss = network(batch).float().square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    time.sleep(0.1)
unit = TOKENS * WIDTH * 2
# The unwrapped layer keeps its input, the normed input, the input of gelu and its output.
print(json.dumps({"bytes": [(2 + 2 * FACTOR) * unit, (1 + 2 * FACTOR) * unit, 2 * FACTOR * unit]}))
