# cause: temporaries
# owner: build_report|render|join|encode|compress
# change: chunk|stream|piece|smaller|generator|write|iterat|reuse|batch
# host: yes
# source: the kind of exports that hold a report as text, as bytes and compressed
import json
import zlib

ROWS, WIDTH = 4000, 12000


def row(number):
    return (f"{number:08d}," * (WIDTH // 9))[:WIDTH - 1] + "\n"


def render(first):
    return "".join(row(first + i) for i in range(ROWS))


def build_report(first):
    text = render(first)
    data = text.encode("utf-8")
    return zlib.compress(data, 1)


sizes = [len(build_report(month * ROWS)) for month in range(4)]
text = ROWS * WIDTH
print(json.dumps({"bytes": [text, 2 * text, 2 * text + sizes[0], 3 * text]}))
