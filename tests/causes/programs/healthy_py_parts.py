# cause: none
# source: a healthy program
# host: yes
import json
import time


def build(count):
    parts = bytearray(2_000_000 * count)
    for number in range(count):
        parts[2_000_000 * number:2_000_000 * (number + 1)] = b"y" * 2_000_000
        time.sleep(0.01)
    return parts


text = build(40)
time.sleep(0.5)
print(json.dumps({"bytes": []}))
