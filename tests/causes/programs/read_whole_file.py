# cause: holder
# owner: parse
# change: stream|chunk|iterate
# source: the kind of log parsers
# host: yes
import json
import tempfile
import time


def parse(path):
    with open(path, "rb") as f:
        lines = f.read().split(b"\n")
    time.sleep(1)
    return len(lines)


with tempfile.NamedTemporaryFile() as file:
    line = b"x" * 1_000_000 + b"\n"
    for _ in range(200):
        file.write(line)
    file.flush()
    parse(file.name)
print(json.dumps({"bytes": [200 * 1_000_000, 2 * 200 * 1_000_000]}))
