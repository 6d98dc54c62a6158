# cause: activations
# owner: Block|RewardModel|score_batch|forward|layers
# change: no_grad|inference_mode|grad|graph|backward
# source: a reward model that ranks finished answers; scoring runs in eval(), but autograd records every forward pass
import json
import time

import torch
import torch.nn.functional as F
from torch import nn

LAYERS, WIDTH, ANSWERS, TOKENS, BATCHES = 16, 2048, 8, 1024, 16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, hidden):
        return hidden + self.down(F.gelu(self.up(self.norm(hidden))))


class RewardModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, 1)

    def forward(self, hidden):
        for layer in self.layers:
            hidden = layer(hidden)
        return self.head(hidden[:, -1]).squeeze(-1)


def score_batch(model, answers):
    return model(answers).float().tolist()


def rank(model, generator):
    best = []
    for _ in range(BATCHES):
        answers = torch.randn(ANSWERS, TOKENS, WIDTH, device="cuda", dtype=torch.bfloat16, generator=generator)
        rewards = score_batch(model, answers)
        best.append(max(range(ANSWERS), key=rewards.__getitem__))
        time.sleep(0.25)
    return best


model = RewardModel().to("cuda", torch.bfloat16).eval()
rank(model, torch.Generator("cuda").manual_seed(1))
hidden_size = ANSWERS * TOKENS * WIDTH * 2
# A block keeps its input, the normed input, and the input and output of gelu.
graph = LAYERS * 10 * hidden_size
print(json.dumps({"bytes": [graph, graph + hidden_size, graph - hidden_size]}))
