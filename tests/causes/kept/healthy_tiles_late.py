# cause: none
# host: yes
# source: a healthy program: a bounded cache of tiles that is full late, after the map has been moved about
import array
import functools
import random
import time

SIDE = 128


@functools.lru_cache(maxsize=700)
def load_tile(x, y):
    return array.array("f", bytes(4 * SIDE * SIDE))


def render(x, y):
    tiles = [load_tile(x + i, y + j) for i in range(3) for j in range(3)]
    return sum(tile[(x + y) % len(tile)] for tile in tiles)


random.seed(6)
x = y = 500
for frame in range(4000):
    x, y = x + random.choice([-1, 0, 0, 1]), y + random.choice([-1, 0, 0, 1])
    if frame % 400 == 399:
        x, y = x + 40, y - 25
    render(x, y)
    time.sleep(0.002)
print(load_tile.cache_info())
print("{}")
