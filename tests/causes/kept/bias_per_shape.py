# cause: growth
# owner: relative_bias|forward|encode
# change: evict|bound|keeps|limit
# source: the kind of vision transformers with native aspect ratios that cache a table per shape
import json
import random
import torch

HEADS, WIDTH = 12, 768


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.slope = torch.nn.Parameter(torch.rand(HEADS, 1, 1))
        self.tables = {}

    def relative_bias(self, h, w):
        if (h, w) not in self.tables:
            ys, xs = torch.meshgrid(torch.arange(h, device="cuda"), torch.arange(w, device="cuda"), indexing="ij")
            place = torch.stack([ys.flatten(), xs.flatten()], -1).float()
            self.tables[h, w] = -self.slope * torch.cdist(place, place, p=1)
        return self.tables[h, w]

    def forward(self, x, h, w):
        q, k, v = self.qkv(x).view(x.shape[0], -1, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=self.relative_bias(h, w))
        return self.out(y.transpose(1, 2).flatten(2))


def encode(model, h, w):
    with torch.inference_mode():
        return model(torch.randn(1, h * w, WIDTH, device="cuda"), h, w).mean().item()


random.seed(7)
torch.cuda.set_per_process_memory_fraction(6 * 2**30 / torch.cuda.get_device_properties(0).total_memory)
model = Attention().cuda().eval()
try:
    for image in range(600):
        encode(model, random.randint(24, 40), random.randint(24, 40))
except torch.OutOfMemoryError:
    pass
print(json.dumps({"bytes": [sum(t.numel() * 4 for t in model.tables.values())]}))
