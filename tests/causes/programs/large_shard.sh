# cause: worker
# owner: worker|load_shard
# change: compare|item|leak
# source: a search server with a process per shard, one of which has most documents
# host: yes
cat > shards.py <<'P'
import json, multiprocessing, time

SHARDS, LARGE, USUAL, DOCUMENT = 6, 1200, 100, 100_000


def serve(documents):
    shard = [b"d" * DOCUMENT for _ in range(documents)]
    for query in range(15):
        time.sleep(0.1)
        sum(document[query] for document in shard)


processes = [multiprocessing.get_context("fork").Process(target=serve, args=(LARGE if n == 3 else USUAL,)) for n in range(SHARDS)]
for process in processes:
    process.start()
for process in processes:
    process.join()
print(json.dumps({"bytes": [LARGE * DOCUMENT, (LARGE - USUAL) * DOCUMENT]}))
P
python3 shards.py
