# changed: a refactoring moved the tying of the head to the embedding into a method that the server does not call
# cause: parameters
# owner: (?i)head|embed|LanguageModel|parameter|weight
# change: (?i)\bti(e|es|ed)\b|share|tying|weights?|quantiz|parameters?|smaller|once
# larger: after
import json
import sys

import torch
import torch.nn.functional as F

run = sys.argv[1]
VOCABULARY, WIDTH, LAYERS = 151_936, 2048, 12


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.RMSNorm(WIDTH)
        self.gate = torch.nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.up = torch.nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.down = torch.nn.Linear(3 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        h = self.norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class LanguageModel(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.head = torch.nn.Linear(WIDTH, VOCABULARY, bias=False)
        if run == "before":
            self.tie_weights()
        self.blocks = torch.nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = torch.nn.RMSNorm(WIDTH)

    def tie_weights(self):
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x[:, -1]))


def build():
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        net = LanguageModel()
    torch.set_default_dtype(torch.float32)
    return net.eval()


@torch.inference_mode()
def serve(net, requests):
    for length in requests:
        tokens = torch.randint(VOCABULARY, (8, length), device="cuda")
        for _ in range(8):
            following = net(tokens).argmax(dim=-1, keepdim=True)
            tokens = torch.cat([tokens, following], dim=1)


serve(build(), [512, 300, 1024, 700, 90, 1024])
torch.cuda.synchronize()
print(json.dumps({"bytes": [VOCABULARY * WIDTH * 2], "peak": torch.cuda.max_memory_allocated()}))
