# changed: the loss is computed in float32
# cause: temporaries
# owner: (?i)loss|cross_entropy
# change: element|dtype|float|chunk|pieces
# larger: after
import json
import sys

import torch

run = sys.argv[1]
vocabulary, tokens, width = 128256, 4096, 1024
head = torch.nn.Linear(width, vocabulary, bias=False).cuda().bfloat16()
body = torch.nn.Linear(width, width).cuda().bfloat16()


def loss(hidden, target):
    logits = head(hidden)
    if run == "after":
        logits = logits.float()
    return torch.nn.functional.cross_entropy(logits, target)


for _ in range(4):
    x = torch.randn(tokens, width, device="cuda", dtype=torch.bfloat16)
    loss(body(x), torch.randint(vocabulary, (tokens,), device="cuda")).backward()
    head.zero_grad()
    body.zero_grad()
print(json.dumps({"bytes": [vocabulary * tokens * 2, 2 * vocabulary * tokens * 2], "peak": torch.cuda.max_memory_allocated()}))
