# cause: growth
# owner: publish
# change: keeps
# source: the kind of video pipelines that publish each frame in shared memory and never unlink it
# host: yes
import json
import time
from multiprocessing import shared_memory

FRAME, FRAMES = 2_000_000, 100
published = []


def publish(n):
    frame = shared_memory.SharedMemory(create=True, size=FRAME)
    frame.buf[:] = bytes([n]) * frame.size
    published.append(frame)


for n in range(FRAMES):
    publish(n)
    time.sleep(0.03)
print(json.dumps({"bytes": [FRAME * FRAMES, FRAME]}))
for frame in published:
    frame.close()
    frame.unlink()
