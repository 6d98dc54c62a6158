# cause: instance
# owner: export|fetch_rows|serialize|handle
# change: stream|page|limit|chunk|piece|smaller|generator|iterat|split|batch
# host: yes
# source: the kind of exports in which one tenant has a hundred times the rows of the others
import json
import time

ROW = "2024-05-01T00:00:00Z|device-%06d|temperature|%05d|" + "v" * 4000


def fetch_rows(tenant):
    count = 24000 if tenant == 37 else 100 + tenant
    return [ROW % (i, tenant) for i in range(count)]


def serialize(rows):
    return "\n".join(rows).encode()


def export(tenant):
    rows = fetch_rows(tenant)
    answer = serialize(rows)
    return sum(map(len, rows)), len(answer)


largest = (0, 0)
for tenant in range(60):
    largest = max(largest, export(tenant))
    time.sleep(0.02)
text, answer = largest
overhead = 49 * 24000  # the header of each string
print(json.dumps({"bytes": [answer, text + overhead, 2 * answer, text + overhead + answer, text + overhead + 2 * answer]}))
