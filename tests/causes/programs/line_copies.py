# cause: temporaries
# owner: step
# change: in place|reuse|once|chunk
# source: the kind of image filters
# host: yes
import json
import time


def step(image):
    larger = bytes(image) + b"x"
    time.sleep(0.02)
    return len(larger)


image = bytearray(100_000_000)
for _ in range(20):
    step(image)
print(json.dumps({"bytes": [200_000_001, 100_000_000]}))
