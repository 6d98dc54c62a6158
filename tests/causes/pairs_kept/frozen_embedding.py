# changed: the embedding is frozen, and so has no dense gradient
# cause: gradients
# owner: (?i)embed|train_step|fine_tune|backward|gradient
# change: (?i)fr(ee|o)z|requires_grad|sparse|gradient|set_to_none
# larger: before
import json
import sys

import torch

run = sys.argv[1]
VOCABULARY, WIDTH, LAYERS, CLASSES = 128_256, 1536, 6, 40


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.up = torch.nn.Linear(WIDTH, 2 * WIDTH)
        self.down = torch.nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = torch.nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.score = torch.nn.Linear(WIDTH, CLASSES)

    def forward(self, tokens):
        return self.score(self.blocks(self.embedding(tokens)).mean(dim=1))


with torch.device("cuda"):
    net = Classifier()
if run == "after":
    net.embedding.weight.requires_grad_(False)
optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=1e-3)


def train_step(tokens, labels):
    loss = torch.nn.functional.cross_entropy(net(tokens), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def fine_tune():
    for step in range(12):
        length = 64 + 16 * (step % 4)
        train_step(torch.randint(VOCABULARY, (8, length), device="cuda"), torch.randint(CLASSES, (8,), device="cuda"))


fine_tune()
torch.cuda.synchronize()
print(json.dumps({"bytes": [VOCABULARY * WIDTH * 4], "peak": torch.cuda.max_memory_allocated()}))
