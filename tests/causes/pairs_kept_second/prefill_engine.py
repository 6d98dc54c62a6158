# changed: prefill now slices the last position before the vocabulary projection; earlier it projected and upcast to float32 every prompt position and used only the last
# cause: temporaries
# owner: (?i)PrefillEngine|next_token_scores|CausalDecoder|admit|serve
# change: (?i)logits|last|slice|position|keep|lm_head|vocab|float|upcast|chunk|project|temporar|short.?lived|prompt
# larger: before
import json
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, DIM, DEPTH, HEADS = 100352, 2048, 12, 16


class DecoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.RMSNorm(DIM)
        self.qkv = nn.Linear(DIM, 3 * DIM, bias=False)
        self.out = nn.Linear(DIM, DIM, bias=False)
        self.norm2 = nn.RMSNorm(DIM)
        self.up = nn.Linear(DIM, 4 * DIM, bias=False)
        self.down = nn.Linear(4 * DIM, DIM, bias=False)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, DIM))
        return x + self.down(F.silu(self.up(self.norm2(x))))


class CausalDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.layers = nn.ModuleList(DecoderLayer() for _ in range(DEPTH))
        self.norm = nn.RMSNorm(DIM)
        self.lm_head = nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class PrefillEngine:
    def __init__(self, keep):
        with torch.device("cuda"):
            torch.set_default_dtype(torch.bfloat16)
            self.model = CausalDecoder().eval()
            torch.set_default_dtype(torch.float32)
        self.keep = keep

    def next_token_scores(self, hidden):
        scores = self.model.lm_head(hidden[:, -self.keep:]).float()
        return scores[:, -1].clone()

    @torch.inference_mode()
    def admit(self, prompts):
        hidden = self.model(prompts)
        scores = self.next_token_scores(hidden)
        return scores.topk(8, dim=-1).indices


def serve(engine, batch, length, rounds):
    for i in range(rounds):
        prompts = torch.randint(0, VOCAB, (batch, length), device="cuda")
        picks = engine.admit(prompts)
        print(f"batch {i}: {picks[0, :3].tolist()}")


def main():
    torch.manual_seed(5)
    batch, length = 4, 2048
    keep = length if sys.argv[1] == "before" else 1
    serve(PrefillEngine(keep), batch, length, 8)
    rows = batch * keep
    widest = batch * length
    print(json.dumps({
        "bytes": [
            rows * VOCAB * 6, rows * VOCAB * 4, rows * VOCAB * 2,
            (widest - batch) * VOCAB * 6, (widest - batch) * VOCAB * 4,
        ],
        "peak": torch.cuda.max_memory_allocated(),
    }))


if __name__ == "__main__":
    main()
