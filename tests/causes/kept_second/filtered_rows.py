# cause: retention
# owner: parse_export|filter|load|render_row
# change: malloc_trim|trim|MALLOC_|arena|jemalloc|allocator|mimalloc|tcmalloc|fragment
# host: yes
# source: an import filters a large export and keeps every fortieth row; the kept rows lie between the freed ones, so malloc returns nothing
import json
import time

ROWS, ROW, EVERY = 60_000, 3000, 40


def render_row(number):
    return f"{number:08d}".ljust(ROW, ",")


def parse_export():
    return [render_row(number) for number in range(ROWS)]


def load():
    rows = parse_export()
    return [row for number, row in enumerate(rows) if number % EVERY == EVERY - 1]


kept = load()
served = 0
for request in range(350):
    served += len(kept[request % len(kept)])
    time.sleep(0.01)
freed = ROWS - ROWS // EVERY
print(json.dumps({"bytes": [freed * ROW, freed * (ROW + 72), ROWS * ROW]}))
