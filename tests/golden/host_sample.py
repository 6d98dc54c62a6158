"""Recorded as host-sample.zst (format 1.5) and host-estimated.zst (1.13) with MEMPROF_HOST=sample:32K, PYTHONMALLOC=malloc
and CPython 3.11: one line allocates blocks that stay live, another line allocates blocks that each step frees, and one
block is larger than any sampled one."""
import json
import os
import time

text = json.dumps([{"id": i, "name": f"user {i}", "tags": [f"a{i}", "b"], "score": i * 1.5} for i in range(1000)])
table = bytearray(3 << 20)
kept = []


def parse():
    return json.loads(text)


def remember(parsed):
    kept.append([dict(user) for user in parsed])


for step in range(40):
    remember(parse())
    time.sleep(0.02)
os._exit(0)
