# cause: none
# source: a healthy program
# host: yes
import time


def load():
    return [bytearray(1_000_000) for _ in range(60)]


for _ in range(5):
    data = load()
    time.sleep(0.1)
    del data
