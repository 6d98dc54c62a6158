# cause: growth
# owner: make_task
# change: keeps|cancel
# source: the kind of timers
# host: yes
# record: MEMPROF_PYTHON=small
import json
import time

tasks = {}


def make_task(number):
    payload = list(range(20_000))
    tasks[number] = lambda: payload


for number in range(100):
    make_task(number)
    time.sleep(0.02)
print(json.dumps({"bytes": []}))
