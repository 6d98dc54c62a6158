# cause: none
# source: a healthy program
# host: yes
import functools
import time


@functools.lru_cache(maxsize=16)
def page(n):
    return bytearray(200_000)


for n in range(150):
    page(n % 30)
    time.sleep(0.01)
