# cause: none
# source: a healthy program
# host: yes
import json
import tempfile
import time


def parse(path):
    with open(path, "rb") as f:
        lines = sum(1 for line in f)
    time.sleep(1)
    return lines


with tempfile.NamedTemporaryFile() as file:
    line = b"x" * 1_000_000 + b"\n"
    for _ in range(200):
        file.write(line)
    file.flush()
    parse(file.name)
print(json.dumps({"bytes": []}))
