# cause: none
# source: a healthy program: large weights and large batches that are needed, without gradients
import torch

LAYERS, WIDTH = 24, 2048


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, 16, WIDTH // 16)).permute(2, 0, 3, 1, 4)
        x = x + self.out(torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))


def load_model():
    with torch.device("cuda"):
        return torch.nn.ModuleList([Block().to(torch.bfloat16) for _ in range(LAYERS)]).eval()


@torch.inference_mode()
def score(model, rows):
    x = torch.randn(rows, 512, WIDTH, device="cuda", dtype=torch.bfloat16)
    for block in model:
        x = block(x)
    return x[:, -1].float().norm(dim=-1).cpu()


model = load_model()
scores = torch.cat([score(model, 32) for _ in range(25)])
print(scores.shape)
