# cause: temporaries
# owner: dequantize|forward
# change: chunk|piece|smaller|in place|fuse|dtype|half|out=
# source: the kind of weight-only quantization without a fused kernel
import json
import torch


class Int8Linear(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (outputs, inputs), dtype=torch.int8, device="cuda"))
        self.register_buffer("scale", torch.full((outputs, 1), 1e-3, device="cuda"))

    def dequantize(self):
        return (self.weight.float() * self.scale).to(torch.bfloat16)

    def forward(self, x):
        return torch.nn.functional.linear(x, self.dequantize())


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = Int8Linear(8192, 24576), Int8Linear(24576, 8192)

    def forward(self, x):
        return x + self.down(torch.nn.functional.silu(self.up(x)))


@torch.inference_mode()
def generate(model, tokens):
    x = torch.randn(8, 8192, device="cuda", dtype=torch.bfloat16)
    for _ in range(tokens):
        x = model(x).clamp(-4, 4)
    return x.float().mean().item()


model = Mlp()
for request in range(6):
    generate(model, 12)
weights = 8192 * 24576
print(json.dumps({"bytes": [4 * weights, 8 * weights, 6 * weights, 2 * weights]}))
