# changed: the server keeps a compressor per connection (context takeover) instead of one per message
# cause: blocks
# owner: (?i)Connection|__init__|compress|deflate|accept
# change: (?i)keeps|connection|bound|fewer|compress|context|share|window|reuse|release|limit
# larger: after
# host: yes
import json
import random
import sys
import time
import zlib

takeover = sys.argv[1] == "after"
CONNECTIONS, WINDOW_BITS, MEMORY_LEVEL = 400, 15, 8


def new_compressor():
    return zlib.compressobj(1, zlib.DEFLATED, -WINDOW_BITS, MEMORY_LEVEL)


class Connection:
    def __init__(self, number):
        self.number = number
        self.sent = 0
        self.deflate = new_compressor() if takeover else None

    def send(self, message):
        deflate = self.deflate or new_compressor()
        self.sent += len(deflate.compress(message) + deflate.flush(zlib.Z_SYNC_FLUSH))


def accept_all():
    connections = []
    for number in range(CONNECTIONS):
        connections.append(Connection(number))
        connections[-1].send(b"welcome %d " % number * 40)
        time.sleep(0.001)
    return connections


def broadcast(connections):
    rng = random.Random(3)
    for n in range(3 * CONNECTIONS):
        news = "".join(f"item {i} costs {rng.random():.12f};" for i in range(8)).encode()
        connections[n % CONNECTIONS].send(news + rng.randbytes(18_000).hex().encode()[:24_000])


connections = accept_all()
broadcast(connections)
time.sleep(0.3)
# zconf.h: (1 << (windowBits + 2)) + (1 << (memLevel + 9)), and a state of about 6 KB
each = (1 << (WINDOW_BITS + 2)) + (1 << (MEMORY_LEVEL + 9))
print(json.dumps({"bytes": [CONNECTIONS * each, CONNECTIONS * (each + 6000)]}))
