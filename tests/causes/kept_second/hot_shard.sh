#!/bin/sh
# cause: worker
# owner: load_shard|worker|process|pid|serve_shard
# change: worker|balance|shard|leak|restart|recycl|max_tasks|distribut|compare|input|even|other
# source: a search cluster on one host with a process per shard; documents are divided badly, and one shard is far larger than the others
python3 - <<'EOF'
import json
import multiprocessing
import time

SHARDS, HOT, USUAL, LARGE, DOCUMENT = 6, 4, 400, 720, 100_000


def load_shard(documents):
    shard = []
    for number in range(documents):
        shard.append(bytes([number % 255 + 1]) * DOCUMENT)
        if number % 8 == 0:
            time.sleep(0.01)
    return shard


def resident():
    with open("/proc/self/status", encoding="ascii") as status:
        return next((int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon:")), 0)


def serve_shard(number, sender):
    shard = load_shard(LARGE if number == HOT else USUAL + number)
    hits = 0
    for query in range(40):
        hits += sum(document[query] for document in shard)
        time.sleep(0.09)
    sender.send((hits, resident()))


context = multiprocessing.get_context("fork")
receivers, processes = [], []
for number in range(SHARDS):
    receiver, sender = context.Pipe(duplex=False)
    processes.append(context.Process(target=serve_shard, args=(number, sender)))
    processes[-1].start()
    receivers.append(receiver)
sizes = [receiver.recv()[1] for receiver in receivers]
for process in processes:
    process.join()
print(json.dumps({"bytes": [LARGE * DOCUMENT, (LARGE - USUAL) * DOCUMENT, max(sizes), max(sizes) - sorted(sizes)[SHARDS // 2]]}))
EOF
