# changed: attention by scaled_dot_product_attention instead of matmul and softmax
# cause: activations
# owner: (?i)attention|softmax|Block.forward
# change: (?i)attention|flash|sdpa|scores|checkpoint|shorter|smaller|activation
# larger: before
import json
import sys

import torch
import torch.nn.functional as F

run = sys.argv[1]
BATCH, LENGTH, WIDTH, HEADS, LAYERS, STEPS = 2, 2048, 1024, 16, 8, 6


def eager_attention(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) * q.size(-1) ** -0.5
    return F.softmax(scores.masked_fill_(mask, float("-inf")), dim=-1) @ v


def flash_attention(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = torch.nn.Linear(WIDTH, WIDTH, bias=False)
        self.implementation = flash_attention if run == "after" else eager_attention

    def forward(self, x, mask):
        q, k, v = (part.view(*x.shape[:2], HEADS, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        return self.out(self.implementation(q, k, v, mask).transpose(1, 2).reshape(x.shape))


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.mlp = torch.nn.Sequential(torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.GELU(), torch.nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, mask):
        x = x + self.attention(self.norm1(x), mask)
        return x + self.mlp(self.norm2(x))


class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block() for _ in range(LAYERS))

    def forward(self, x, mask):
        for block in self.blocks:
            x = block(x, mask)
        return x


with torch.device("cuda"):
    net = Decoder().to(torch.bfloat16)
    causal = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)


def train_step(x):
    loss = net(x, causal).float().square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


for _ in range(STEPS):
    train_step(torch.randn(BATCH, LENGTH, WIDTH, device="cuda", dtype=torch.bfloat16))
torch.cuda.synchronize()
scores = BATCH * HEADS * LENGTH * LENGTH * 2
print(json.dumps({"bytes": [LAYERS * scores, (LAYERS + 1) * scores, (LAYERS + 2) * scores, scores], "peak": torch.cuda.max_memory_allocated()}))
