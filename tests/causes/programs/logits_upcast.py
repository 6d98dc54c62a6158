# cause: temporaries
# owner: (?i)loss
# heap: gpu0/torch
# change: chunk|fused|float
# source: huggingface/transformers#31292 (kind)
import json
import torch

vocabulary, tokens, width = 128256, 4096, 1024
head = torch.nn.Linear(width, vocabulary, bias=False).cuda().bfloat16()
body = torch.nn.Linear(width, width).cuda().bfloat16()


def loss(hidden, target):
    logits = head(hidden).float()
    return torch.nn.functional.cross_entropy(logits, target)


for _ in range(3):
    x = torch.randn(tokens, width, device="cuda", dtype=torch.bfloat16)
    loss(body(x), torch.randint(vocabulary, (tokens,), device="cuda")).backward()
    head.zero_grad()
    body.zero_grad()
print(json.dumps({"bytes": [vocabulary * tokens * 4, 2 * vocabulary * tokens * 4, 3 * vocabulary * tokens * 4]}))
