# cause: none
# source: a healthy program; nearly: growth
# host: yes
import time
from multiprocessing import shared_memory

for n in range(60):
    frame = shared_memory.SharedMemory(create=True, size=2_000_000)
    frame.buf[:] = bytes([n]) * frame.size
    time.sleep(0.03)
    frame.close()
    frame.unlink()
