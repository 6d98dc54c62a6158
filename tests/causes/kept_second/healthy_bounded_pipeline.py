# cause: none
# host: yes
# source: a healthy program: a fast producer and a slow consumer with a queue of at most 24 blocks, which is full after half a second
import json
import queue
import threading
import time
import zlib

BLOCK, BLOCKS = 2_000_000, 160


def produce(blocks):
    for number in range(BLOCKS):
        blocks.put((b"%08d" % number) * (BLOCK // 8))
        time.sleep(0.01)
    blocks.put(None)


def consume(blocks, checksums):
    while (block := blocks.get()) is not None:
        checksums.append(zlib.crc32(block))
        time.sleep(0.03)


blocks, checksums = queue.Queue(maxsize=24), []
producer = threading.Thread(target=produce, args=(blocks,))
producer.start()
consume(blocks, checksums)
producer.join()
print(len(checksums), "blocks")
print(json.dumps({"bytes": []}))
