"""`memprof-report leaks` finds the call sites of programs that leak a little with each request."""
import json
import os
import subprocess

import mp
import stacks
from test_torch import interpreters, record, script

REQUESTS = 200
SESSIONS, SESSION, ENTRY = 3, 224, 5000         # server.c


def leaks(path, *options):
    return subprocess.run([os.environ["MEMPROF_REPORT"], "leaks", "--heap", "host/heap", *options, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=mp.TIMEOUT, text=True, check=True).stdout


def found(path, *options):
    """Returns the report and its only heap."""
    report = json.loads(leaks(path, "--format", "json", *options))
    heap, = report["heaps"]
    return report, heap


def server():
    stacks.has_symbols()
    return mp.run([mp.victim("server"), str(REQUESTS)], env={"MEMPROF_STACKS": "all"}).logs.one().path


def test_leaks_names_the_function_and_its_growth_per_request():
    report, heap = found(server(), "--by", "stack")
    mp.equal((report["range"], report["instants"]), ("request", REQUESTS), "the range and number of instants")
    row, = heap["growing"]
    requests = report["last"] - report["warm_up"]
    mp.check(row["path"][-1].startswith("make_session (server.c:") and row["path"][-2].startswith("handle (server.c:"), row)
    mp.equal((row["grown_blocks"], row["grown_bytes"]), (requests * SESSIONS, requests * SESSIONS * SESSION), "growth")
    mp.equal(row["blocks"], report["last"] * SESSIONS, "blocks")
    mp.equal((row["oldest_steps"], row["median_steps"]), (REQUESTS, REQUESTS // 2 + 1), "ages")


def test_leaks_separates_a_bounded_cache_from_a_leak():
    report, heap = found(server(), "--by", "stack")
    row, = heap["levelled_off"]
    mp.check(row["path"][-1].startswith("remember (server.c:"), row)
    mp.equal((row["blocks"], row["bytes"]), (REQUESTS // 4, REQUESTS // 4 * ENTRY), "blocks and bytes")
    mp.equal(row["median_steps"], REQUESTS - REQUESTS // 8 + 1, "the age of half of it")


def test_leaks_text_names_the_leaking_function():
    text = leaks(server(), "--by", "stack")
    line, = [l for l in text.splitlines() if "make_session (" in l and "a request" not in l and "oldest" in l]
    mp.check("handle > make_session (server.c:" in line and f"+{SESSIONS} " in line, text)
    mp.check(f"1 site grows by {SESSIONS * SESSION} B a request" in text, text)


# Each request keeps the values of a line of JSON. The text of the line is a separate block, whose Python stack is
# always recorded.
LOADED = """import ctypes, json, os, sys
nvtx = ctypes.CDLL(os.environ["NVTX"])
kept, cache = [], {}


def lookup(key, line):
    if key not in cache:
        cache[key] = json.loads(line)


def handle(number, line):
    kept.append(json.loads(line))
    lookup(number % 10, line)
    json.loads(line)


def serve(requests, line):
    for number in range(requests):
        nvtx.torch_push(b"request")
        handle(number, line)
        nvtx.torch_pop()
"""
LARGE = LOADED + """
serve(40, json.dumps(["x" * (1 << 20)]))
print(sys.getsizeof(kept[0][0]))
"""
SMALL = LOADED + """
serve(24, json.dumps([{"user": i, "name": f"name {i}"} for i in range(16000)]))
print(sum(map(sys.getsizeof, kept[0])) + sum(sys.getsizeof(value) for row in kept[0] for value in row.values()))
"""
KEEPS, CACHES = "(script.py:12)", "(script.py:8)"


def served(python, text, **env):
    path, result = record([python, script(text)], NVTX=mp.victim("libtorch_ranges.so"), **env)
    return path, int(result.out)


def at(rows, line):
    return [row for row in rows if any(line in frame for frame in row["path"])]


def test_leaks_names_the_leaking_line_of_python():
    for python in interpreters():
        path, size = served(python, LARGE)
        report, heap = found(path, "--by", "python")
        row, = at(heap["growing"], KEEPS)
        requests = report["last"] - report["warm_up"]
        mp.check(row["path"][-1].startswith("raw_decode") or row["path"][-1].startswith("JSONDecoder.raw_decode"), f"{python}: {row}")
        mp.equal((row["grown_blocks"], row["grown_bytes"]), (requests, requests * size), f"{python}: what it grew by")
        mp.equal((row["oldest_steps"], row["median_steps"]), (40, 21), f"{python}: ages")
        row, = at(heap["levelled_off"], CACHES)
        mp.equal((row["blocks"], row["bytes"]), (10, 10 * size), f"{python}: the cache")
        line, = [l for l in leaks(path, "--by", "python").splitlines() if "script.py:12" in l and "oldest" in l]
        mp.check("handle" in line and "oldest 40 " in line, f"{python}: {line}")


def test_leaks_estimates_leaking_small_objects():
    path, size = served(next(iter(interpreters())), SMALL, MEMPROF_PYTHON="small")
    report, heap = found(path, "--by", "python", "--heap", "host/python")
    rows = at(heap["growing"], KEEPS)
    requests = report["last"] - report["warm_up"]
    grown = sum(row["grown_bytes"] for row in rows)
    mp.check(rows and all(row["estimated"] for row in rows), heap)
    mp.check(0.5 * size * requests < grown < 1.6 * size * requests, f"{grown} bytes in {requests} requests, of {size} each")
    mp.check(not at(heap["growing"], CACHES), heap["growing"])


if __name__ == "__main__":
    mp.main()
