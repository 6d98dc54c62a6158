"""Recorded as python-leak.zst with memprof run --python=small --stacks=sample, by CPython 3.11: handle() keeps each answer, about
9 MiB of small objects in total. lookup() has a cache that is full after the first fifth."""
import json
import time

text = json.dumps([{"id": i, "name": f"user {i}", "tags": [f"a{i}", "b"], "score": i * 1.5} for i in range(12)])
kept, cache = [], {}


def handle():
    kept.append(json.loads(text))


def lookup(i):
    key = i % 360
    if key not in cache:
        cache[key] = (json.loads(text), json.loads(text))
    return cache[key]


for i in range(1800):
    handle()
    lookup(i)
    time.sleep(0.0005)
