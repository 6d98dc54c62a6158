# cause: holder
# owner: CausalAttention|__init__|build
# change: share|is_causal|smaller|one mask|reduce|needed|shorter|fewer
# source: the kind of GPT-2 and GPT-Neo modules, each with its own causal mask buffer
import json
import torch

CONTEXT, WIDTH, HEADS = 16384, 512, 8


class CausalAttention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.register_buffer("mask", torch.tril(torch.ones(CONTEXT, CONTEXT, dtype=torch.bool)).view(1, 1, CONTEXT, CONTEXT))

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-1, -2)) * (WIDTH // HEADS) ** -0.5
        scores = scores.masked_fill(~self.mask[:, :, :t, :t], float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, WIDTH))


class Model(torch.nn.Module):
    def __init__(self, layers=14):
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(8192, WIDTH), torch.nn.Linear(WIDTH, 8192)
        self.layers = torch.nn.ModuleList([CausalAttention() for _ in range(layers)])

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x)


def train(model, steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(steps):
        tokens = torch.randint(8192, (4, 257), device="cuda")
        logits = model(tokens[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


with torch.device("cuda"):
    model = Model()
train(model, 20)
print(json.dumps({"bytes": [CONTEXT * CONTEXT * len(model.layers), CONTEXT * CONTEXT]}))
