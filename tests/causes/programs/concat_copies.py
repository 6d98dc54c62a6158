# cause: temporaries
# owner: build
# change: join|bytearray|once
# source: the kind of report builders
# host: yes
import json
import time


def build(count):
    text = b""
    for _ in range(count):
        text = text + b"y" * 2_000_000
        time.sleep(0.01)
    return text


text = build(80)
time.sleep(0.5)
print(json.dumps({"bytes": [160_000_000, 2 * 160_000_000]}))
