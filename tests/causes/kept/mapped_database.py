# cause: file_mappings
# owner: scan|open_database|records
# change: mmap|read|map|madvise|page cache|window|piece
# host: yes
# source: the kind of readers that map a whole database and visit every record
import json
import mmap
import os
import tempfile
import time

RECORD, RECORDS = 8192, 22000


def write_database(path):
    with open(path, "wb") as f:
        for first in range(0, RECORDS, 1000):
            f.write(b"".join(b"%08d" % i + b"." * (RECORD - 8) for i in range(first, first + 1000)))


def open_database(path):
    with open(path, "rb") as f:
        return mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)


def scan(records):
    return sum(int(records[i * RECORD:i * RECORD + 8]) for i in range(RECORDS))


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "records.db")
    write_database(path)
    records = open_database(path)
    for _ in range(3):
        scan(records)
        time.sleep(1)
    print(json.dumps({"bytes": [len(records)]}))
    records.close()
