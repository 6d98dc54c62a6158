#!/bin/sh
# cause: workers
# owner: load_rates|worker|fork|process|initializ
# change: fewer|share|shared|thread|pool|before (the )?fork|fork|once|workers|map
# source: a reporting service whose pool loads the same table of exchange rates in each of its six worker processes
python3 - <<'EOF'
import json
import multiprocessing
import time

WORKERS, TABLES, TABLE = 6, 80, 1_000_000
rates = {}


def load_rates():
    for number in range(TABLES):
        rates[number] = bytes([number + 1]) * TABLE
        time.sleep(0.005)


def resident():
    with open("/proc/self/status", encoding="ascii") as status:
        return next((int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon:")), 0)


def report(number):
    total = sum(rates[table][number] for table in range(TABLES))
    time.sleep(0.1)
    return total, resident()


with multiprocessing.get_context("fork").Pool(WORKERS, initializer=load_rates) as pool:
    reports = pool.map(report, range(150), chunksize=1)
each = max(size for _, size in reports)
print(json.dumps({"bytes": [WORKERS * TABLES * TABLE, TABLES * TABLE, WORKERS * each, each]}))
EOF
