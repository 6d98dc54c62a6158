# cause: growth
# owner: prefill|serve
# heap: gpu0/torch
# change: evict|session|keeps
# source: vllm-project/vllm#3353 (kind)
import json
import torch

layers, heads, width = 8, 16, 64
sessions = {}


def prefill(tokens):
    return [torch.zeros(2, heads, tokens, width, dtype=torch.float16, device="cuda") for _ in range(layers)]


def serve(request):
    sessions[request] = prefill(2048)
    scores = torch.randn(heads, 2048, 2048, device="cuda").softmax(-1)
    return scores.sum().item()


for request in range(30):
    serve(request)
size = sum(t.numel() * 2 for t in sessions[0])
print(json.dumps({"bytes": [size, 30 * size]}))
