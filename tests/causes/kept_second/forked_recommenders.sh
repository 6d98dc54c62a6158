#!/bin/sh
# cause: copied_pages
# owner: recommend|worker|fork|build_items|process|page|copied
# change: gc\.freeze|freeze|copy.on.write|reference count|refcount|numpy|array|share|fewer|thread|compact|shared
# source: a recommendation server that loads its items before it forks; reading Python objects writes their reference counts, so pages are copied
python3 - <<'EOF'
import json
import multiprocessing
import sys
import time

WORKERS, ITEMS = 4, 280_000


def build_items():
    return [(f"item-{number:08d}".ljust(60, "-"), f"title {number}".ljust(100), number * 1.25) for number in range(ITEMS)]


def private_dirty():
    with open("/proc/self/smaps_rollup", encoding="ascii") as rollup:
        return next((int(line.split()[1]) * 1024 for line in rollup if line.startswith("Private_Dirty:")), 0)


def recommend(items, sender):
    before, best = private_dirty(), None
    for round_number in range(10):
        for key, title, price in items:
            if best is None or price > best[2]:
                best = (key, title, price)
        time.sleep(0.3)
    sender.send(private_dirty() - before)


items = build_items()
context = multiprocessing.get_context("fork")
pipes, processes = [], []
for number in range(WORKERS):
    receiver, sender = context.Pipe(duplex=False)
    processes.append(context.Process(target=recommend, args=(items, sender)))
    processes[-1].start()
    pipes.append(receiver)
copied = [pipe.recv() for pipe in pipes]
for process in processes:
    process.join()
read = sum((sys.getsizeof(part) + 15) // 16 * 16 for item in items for part in (item, *item))
print(json.dumps({"bytes": [WORKERS * read, read, sum(copied), max(copied), min(copied)]}))
EOF
