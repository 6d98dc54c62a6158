# cause: growth
# owner: render
# change: maxsize|cache|keeps
# source: python functools.lru_cache (kind)
# host: yes
import functools
import json
import time


@functools.lru_cache(maxsize=None)
def render(page):
    return bytearray(400_000)


for page in range(120):
    render(page)
    time.sleep(0.02)
print(json.dumps({"bytes": [120 * 400_000, 400_000]}))
