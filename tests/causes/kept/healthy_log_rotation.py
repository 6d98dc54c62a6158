# cause: none
# host: yes
# source: a healthy program: a saw-tooth of batches that are gathered, compressed and written
import json
import random
import time
import zlib


class Batch:
    def __init__(self, limit):
        self.lines, self.size, self.limit, self.written = [], 0, limit, 0

    def add(self, line):
        self.lines.append(line)
        self.size += len(line)
        if self.size >= self.limit:
            self.flush()

    def flush(self):
        packer = zlib.compressobj(1)
        for line in self.lines:
            self.written += len(packer.compress(line))
        self.written += len(packer.flush())
        self.lines, self.size = [], 0


def event(number):
    return json.dumps({"number": number, "kind": random.choice(["open", "read", "close"]), "payload": "ab" * random.randrange(1000, 6000)}).encode()


random.seed(8)
batch = Batch(40 << 20)
for number in range(25000):
    batch.add(event(number))
    if number % 50 == 0:
        time.sleep(0.008)
batch.flush()
print(batch.written)
print("{}")
