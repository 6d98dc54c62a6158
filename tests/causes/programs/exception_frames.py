# cause: growth
# owner: process
# change: traceback|exception|keeps
# source: python/cpython (kind)
# host: yes
import json
import time

errors = []


def process(item):
    buffer = bytearray(500_000)
    raise ValueError(item)


for item in range(100):
    try:
        process(item)
    except ValueError as error:
        errors.append(error)
    time.sleep(0.02)
print(json.dumps({"bytes": [100 * 500_000, 500_000]}))
