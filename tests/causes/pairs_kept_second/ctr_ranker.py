# changed: the id embedding tables are now built with sparse=False, so each backward pass makes a full-size dense .grad per table instead of a few thousand touched rows
# cause: gradients
# owner: (?i)RankerFit|run_batch|IdTower|CtrRanker
# change: (?i)sparse|dense|grad|embedding|set_to_none|zero_grad|backward|table|SparseAdam|rows
# larger: after
import json
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

FIELDS = {"user": 3_000_000, "item": 2_500_000, "advertiser": 1_500_000, "query": 2_000_000}


class IdTower(nn.Module):
    def __init__(self, rows, width, rowwise):
        super().__init__()
        self.table = nn.Embedding(rows, width, sparse=rowwise)

    def forward(self, ids):
        return self.table(ids).mean(dim=1)


class CtrRanker(nn.Module):
    def __init__(self, width, rowwise):
        super().__init__()
        self.towers = nn.ModuleDict({name: IdTower(rows, width, rowwise) for name, rows in FIELDS.items()})
        self.mlp = nn.Sequential(
            nn.Linear(width * len(FIELDS), 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 1)
        )

    def forward(self, batch):
        joined = torch.cat([self.towers[name](batch[name]) for name in FIELDS], dim=1)
        return self.mlp(joined).squeeze(1)


class RankerFit:
    def __init__(self, rowwise):
        with torch.device("cuda"):
            self.model = CtrRanker(64, rowwise)
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.05)
        self.seen = 0

    def run_batch(self, batch, clicks):
        self.opt.zero_grad()
        loss = F.binary_cross_entropy_with_logits(self.model(batch), clicks)
        loss.backward()
        self.opt.step()
        self.seen = sum(self.stored(p.grad) for p in self.model.parameters())
        return loss.item()

    @staticmethod
    def stored(g):
        if g.is_sparse:
            return g._values().numel() * 4 + g._indices().numel() * 8
        return g.numel() * g.element_size()


def main():
    torch.manual_seed(20)
    fit = RankerFit(rowwise=sys.argv[1] == "before")
    for step in range(12):
        batch = {name: torch.randint(0, rows, (4096, 4), device="cuda") for name, rows in FIELDS.items()}
        clicks = torch.rand(4096, device="cuda").round()
        loss = fit.run_batch(batch, clicks)
        if step % 4 == 0:
            print(f"{step:4d} {loss:.5f}")
    tables = sum(t.table.weight.numel() * 4 for t in fit.model.towers.values())
    every = sum(p.numel() * 4 for p in fit.model.parameters())
    print(json.dumps({"bytes": [fit.seen, tables, every], "peak": torch.cuda.max_memory_allocated()}))


if __name__ == "__main__":
    main()
