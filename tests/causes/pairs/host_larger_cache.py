# changed: the cache has 600 entries instead of 100
# cause: blocks
# owner: load_page|remember
# change: keeps|cache|bound|fewer
# larger: after
# host: yes
import collections
import json
import sys
import time

bound = 600 if sys.argv[1] == "after" else 100
cache = collections.OrderedDict()


def load_page(n):
    return bytearray(300_000 + n % 7)


def remember(n):
    cache[n] = load_page(n)
    if len(cache) > bound:
        cache.popitem(last=False)


for n in range(1500):
    remember(n)
    time.sleep(0.002)
print(json.dumps({"bytes": [500 * 300_004]}))
