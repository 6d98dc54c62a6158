# cause: none
# source: a healthy program
# host: yes
import time

cache = {}
for n in range(150):
    cache[n % 40] = bytearray(300_000)
    time.sleep(0.01)
