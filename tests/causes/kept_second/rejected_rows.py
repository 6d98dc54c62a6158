# cause: growth
# owner: read_batch|check_rows|import_batches|reject
# change: copy|bytes\(|view|slice|keep|kept|hold|releas|drop|evict|bound|limit|clear|remov|referenc|free|delete|forget
# host: yes
# source: an ETL job that puts rejected rows aside as slices of a memoryview; each slice of 1 KiB keeps its whole batch alive
import json
import time

BATCHES, ROWS, ROW = 240, 1024, 1024


def read_batch(number):
    batch = bytearray(b"%07d;" % number * (ROWS * ROW // 8))
    batch[(number * 37 % ROWS) * ROW] = 0
    return batch


def check_rows(batch, rejected):
    rows, good = memoryview(batch), 0
    for first in range(0, len(rows), ROW):
        if rows[first] == 0:
            rejected.append(rows[first:first + ROW])
        else:
            good += 1
    return good


def import_batches():
    rejected, good = [], 0
    for number in range(BATCHES):
        good += check_rows(read_batch(number), rejected)
        time.sleep(0.022)
    return rejected, good


rejected, good = import_batches()
print(len(rejected), "rows rejected,", good, "rows imported")
print(json.dumps({"bytes": [BATCHES * ROWS * ROW, ROWS * ROW]}))
