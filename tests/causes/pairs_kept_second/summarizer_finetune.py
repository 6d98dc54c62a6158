# changed: the fine-tuning config switches from AdamW (two full-size moments per parameter) to Adafactor (factored second moment, no first moment)
# cause: optimizer_state
# owner: (?i)FinetuneLoop|apply_update|build_updater|fit|Summarizer
# change: (?i)adamw?|adafactor|optimi[sz]er|moment|exp_avg|state|8.?bit|factored|sgd|shard|zero|foreach
# larger: before
import json
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

CONFIGS = {
    "before": {"updater": "adamw", "lr": 1e-4},
    "after": {"updater": "adafactor", "lr": 1e-3},
}


class Summarizer(nn.Module):
    def __init__(self, vocab=32128, dim=1024, layers=16, heads=16):
        super().__init__()
        self.tokens = nn.Embedding(vocab, dim)
        self.positions = nn.Embedding(512, dim)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        pos = torch.arange(ids.shape[1], device=ids.device)
        x = self.tokens(ids) + self.positions(pos)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def build_updater(model, cfg):
    if cfg["updater"] == "adamw":
        return torch.optim.AdamW(model.parameters(), lr=cfg["lr"], foreach=False)
    return torch.optim.Adafactor(model.parameters(), lr=cfg["lr"], foreach=False)


class FinetuneLoop:
    def __init__(self, model, cfg):
        self.model = model
        self.updater = build_updater(model, cfg)

    def apply_update(self):
        self.updater.step()
        self.updater.zero_grad()

    def fit(self, steps):
        for step in range(steps):
            ids = torch.randint(0, 32128, (4, 256), device="cuda")
            labels = torch.randint(0, 32128, (4, 256), device="cuda")
            logits = self.model(ids)
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
            loss.backward()
            self.apply_update()
            print(f"step {step} loss {loss.item():.4f}")


def state_sizes(model, updater):
    held = sum(
        v.numel() * v.element_size()
        for s in updater.state.values()
        for v in s.values()
        if torch.is_tensor(v) and v.is_cuda
    )
    full = sum(2 * p.numel() * 4 for p in model.parameters())
    factored = sum(
        (p.numel() // p.shape[-1] + p.numel() // p.shape[-2]) * 4 if p.dim() > 1 else p.numel() * 4
        for p in model.parameters()
    )
    return [held, full, full - factored]


def main():
    cfg = CONFIGS[sys.argv[1]]
    torch.manual_seed(11)
    with torch.device("cuda"):
        model = Summarizer()
    loop = FinetuneLoop(model, cfg)
    loop.fit(5)
    sizes = state_sizes(model, loop.updater)
    print(json.dumps({"bytes": sizes, "peak": torch.cuda.max_memory_allocated()}))


if __name__ == "__main__":
    main()
