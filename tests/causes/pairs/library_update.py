# changed: the new version of a library computes all scores of attention at once, in float32
# cause: blocks
# owner: attend|answer
# change: temporar|call site
# larger: after
import json
import os
import sys
import tempfile

VERSION_1 = '''
import torch

def attend(q, k, v):
    out = torch.empty_like(q)
    for i in range(0, q.shape[0], 1024):
        out[i : i + 1024] = (q[i : i + 1024] @ k.T).softmax(dim=-1) @ v
    return out
'''
VERSION_2 = '''
import torch

def attend(q, k, v):
    scores = q.float() @ k.float().T
    return (scores.softmax(dim=-1) @ v.float()).to(q.dtype)
'''
run = sys.argv[1]
place = os.path.join(tempfile.mkdtemp(), "site-packages")
os.mkdir(place)
with open(os.path.join(place, "quickattention.py"), "w", encoding="utf-8") as f:
    f.write(VERSION_2 if run == "after" else VERSION_1)
sys.path.insert(0, place)

import quickattention
import torch

keys, values = torch.randn(2, 16384, 128, device="cuda", dtype=torch.bfloat16)
kept = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")


def answer(question):
    return quickattention.attend(question, keys, values)


with torch.no_grad():
    for _ in range(12):
        answer(torch.randn(16384, 128, device="cuda", dtype=torch.bfloat16)).sum().item()
scores = 16384 * 16384 * 4
print(json.dumps({"bytes": [scores, 2 * scores], "peak": torch.cuda.max_memory_allocated()}))
