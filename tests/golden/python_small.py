"""Recorded as python-small.zst with MEMPROF_PYTHON=small, by CPython 3.11: one line allocates all small objects."""
import json

text = json.dumps([{"id": i, "name": f"user {i}", "tags": [f"a{i}", "b"], "score": i * 1.5} for i in range(100)])


def load():
    return json.loads(text)


kept = [load() for _ in range(150)]
