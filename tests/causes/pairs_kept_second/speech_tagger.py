# changed: nothing that matters: another seed, other run and head names, heads built and logged in another order, another log format
# cause: none
# owner: (?i)SpeechTagger|AcousticLayer|train_epoch
# change: (?i)no (relevant |significant )?(change|difference)|same|unchanged|nothing|equal|identical|noise
import json
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

RUNS = {
    "before": {"seed": 17, "label": "tagger-base-0412", "heads": ["speaker", "language", "emotion"], "fmt": "step={} loss={:.3f}"},
    "after": {"seed": 4242, "label": "tagger-rc1", "heads": ["emotion", "speaker_id", "lang"], "fmt": "{:05d} | {:.6f}"},
}


class AcousticLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.depthwise = nn.Conv1d(dim, dim, 15, padding=7, groups=dim)
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)

    def forward(self, x):
        h = self.depthwise(self.norm(x).transpose(1, 2)).transpose(1, 2)
        return x + self.down(F.silu(self.up(h)))


class SpeechTagger(nn.Module):
    def __init__(self, heads, dim=512, depth=10):
        super().__init__()
        self.stem = nn.Conv1d(80, dim, 3, stride=2, padding=1)
        self.layers = nn.ModuleList(AcousticLayer(dim) for _ in range(depth))
        self.heads = nn.ModuleDict({name: nn.Linear(dim, 512) for name in heads})

    def forward(self, mel):
        x = self.stem(mel).transpose(1, 2)
        for layer in self.layers:
            x = layer(x)
        pooled = x.mean(dim=1)
        return {name: head(pooled) for name, head in self.heads.items()}


def train_epoch(model, opt, run, steps):
    for step in range(steps):
        mel = torch.randn(32, 80, 1500, device="cuda")
        goal = torch.randint(0, 512, (32,), device="cuda")
        scores = model(mel)
        loss = sum(F.cross_entropy(s, goal) for s in scores.values())
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(run["fmt"].format(step, loss.item()))


def main():
    run = RUNS[sys.argv[1]]
    torch.manual_seed(run["seed"])
    print("run", run["label"])
    model = SpeechTagger(run["heads"]).cuda()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
    train_epoch(model, opt, run, 8)
    print(json.dumps({"bytes": [], "peak": torch.cuda.max_memory_allocated()}))


if __name__ == "__main__":
    main()
