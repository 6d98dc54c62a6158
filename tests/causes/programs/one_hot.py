# cause: temporaries
# owner: one_hot|encode
# change: sparse|embedding|chunk|smaller|reuse
# source: the kind of loss functions
import json
import torch

table = torch.randn(32768, 256, device="cuda")


def encode(tokens):
    return torch.nn.functional.one_hot(tokens, 32768).float() @ table


for _ in range(6):
    encode(torch.randint(32768, (8192,), device="cuda")).sum().item()
size = 8192 * 32768
print(json.dumps({"bytes": [8 * size, 4 * size, 12 * size]}))
