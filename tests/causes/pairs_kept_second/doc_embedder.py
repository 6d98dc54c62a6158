# changed: the first-token vector is kept as a view (hidden[:, 0]) instead of a copy, so every batch appended to the index keeps its whole hidden-state tensor on the GPU
# cause: growth
# owner: (?i)IndexBuilder|add_batch|PassageEncoder|pool_first|build
# change: (?i)view|clone|copy|cpu|append|list|slice|base|storage|grow|each (batch|step|repetition|iteration)|keep|detach|rows|accumulat|contiguous
# larger: after
import json
import sys

import torch
import torch.nn as nn

DIM, LENGTH, BATCH = 1024, 512, 128


class PassageEncoder(nn.Module):
    def __init__(self, vocab=30522, depth=24, heads=16):
        super().__init__()
        self.tokens = nn.Embedding(vocab, DIM)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(DIM, heads, 4 * DIM, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(depth)
        )
        self.norm = nn.LayerNorm(DIM)

    def forward(self, ids):
        x = self.tokens(ids)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class IndexBuilder:
    def __init__(self, encoder, own):
        self.encoder = encoder
        self.own = own
        self.rows = []

    def pool_first(self, hidden):
        first = hidden[:, 0]
        return first.clone() if self.own else first

    @torch.no_grad()
    def add_batch(self, ids):
        hidden = self.encoder(ids)
        self.rows.append(self.pool_first(hidden))

    def build(self):
        return torch.nn.functional.normalize(torch.cat(self.rows).float(), dim=-1)


def main():
    torch.manual_seed(8)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        encoder = PassageEncoder().eval()
    builder = IndexBuilder(encoder, own=sys.argv[1] == "before")
    batches = 24
    for i in range(batches):
        builder.add_batch(torch.randint(0, 30522, (BATCH, LENGTH), device="cuda"))
        if i % 8 == 7:
            print(f"indexed {(i + 1) * BATCH} passages")
    index = builder.build()
    print("index", tuple(index.shape))
    whole = BATCH * LENGTH * DIM * 2
    slim = BATCH * DIM * 2
    each = slim if builder.own else whole
    print(json.dumps({
        "bytes": [each * batches, each, (whole - slim) * batches, whole],
        "peak": torch.cuda.max_memory_allocated(),
    }))


if __name__ == "__main__":
    main()
