"""pymalloc's arenas are named, and MEMPROF_PYTHON=small samples the small objects of real interpreters."""
import json
import os
import subprocess

import mp
from test_torch import interpreters, record, script

MIB = 1 << 20

# Allocates about 60 MiB of small objects on one line of `keep`, and frees all of them.
LEAK = '''import gc, sys
def keep():
    return [(i, str(i)) for i in range(400000)]
kept = keep()
held = sum(map(sys.getsizeof, kept)) + sum(sys.getsizeof(x) for t in kept for x in t)
del kept
gc.collect()
print(held)
'''


def heaps(path):
    """Returns {heap: its report} and the log's counts of frees."""
    out = subprocess.run([os.environ["MEMPROF_REPORT"], "peaks", "--format", "json", path], stdout=subprocess.PIPE, check=True).stdout
    log, = json.loads(out)["logs"]
    mp.equal((log["lost_events"], log["unmatched_frees"], log["missed_frees"]), (0, 0, 0), f"{path}: lost, frees of nothing, frees not seen")
    return {heap["heap"]: heap for heap in log["heaps"]}


def rows(heap):
    return {tuple(row["path"]): row["bytes_at_peak"] for row in heap["ranges"]}


def run(python, text, **env):
    path, result = record([python, script(text)], **env)
    mp.equal(result.status, 0, f"{python}: {result.err}")
    return heaps(path), result.out.decode()


def test_pymalloc_arenas_are_listed_by_name():
    for python in interpreters():
        got, _ = run(python, LEAK)
        arenas = rows(got["host/mmap"]).get(("pymalloc arena",), 0)
        mp.check(arenas >= 40 * MIB and arenas % (256 << 10) == 0, f"{python}: bytes of arenas, {arenas}")
        mp.check("host/python" not in got, f"{python}: samples are taken where asked for")


def test_small_objects_are_estimated_by_line():
    for python, version in interpreters().items():
        got, out = run(python, LEAK, MEMPROF_PYTHON="small")
        heap, held = got["host/python"], int(out)
        line = sum(size for path, size in rows(heap).items() if path and path[-1].startswith("keep") and path[-1].endswith("(script.py:3)")) \
            if version >= (3, 12) else sum(size for path, size in rows(heap).items() if any(frame.startswith("keep") for frame in path))
        mp.check(0.5 * held < line < 1.5 * held, f"{python}: {line} bytes by keep, which held {held}")      # 5 standard deviations
        mp.check(heap["end_bytes"] < held / 4, f"{python}: {heap['end_bytes']} bytes at the end, of {held}")
        mp.equal(heap["inside"], "host/mmap", f"{python}: the heap that contains the arenas")
        blocks = heap["blocks_at_peak"]
        mp.check(400000 < blocks < 2000000, f"{python}: {blocks} blocks")


def test_small_object_sampling_uses_the_given_period():
    """The sample is 32 times as dense as by default, so the estimate is about six times as exact."""
    python = next(iter(interpreters()))
    got, out = run(python, LEAK, MEMPROF_PYTHON="small:16K")
    line = sum(size for path, size in rows(got["host/python"]).items() if any(frame.startswith("keep") for frame in path))
    mp.check(0.92 * int(out) < line < 1.08 * int(out), f"{line} bytes by keep, which held {out}")


def test_every_malloc_block_has_its_python_line_with_stacks_all():
    python = next(iter(interpreters()))
    got, out = run(python, LEAK.replace("400000", "20000"), MEMPROF_STACKS="all", PYTHONMALLOC="malloc")
    line = sum(size for path, size in rows(got["host/heap"]).items() if any(frame.startswith("keep") for frame in path))
    mp.check(0.8 * int(out) < line, f"{line} bytes by keep, which held {out}")


def test_objects_inside_arenas_are_not_counted_twice():
    path, _ = record([next(iter(interpreters())), script(LEAK)], MEMPROF_PYTHON="small")
    out = subprocess.run([os.environ["MEMPROF_REPORT"], "peaks", "--format", "json", path], stdout=subprocess.PIPE, check=True).stdout
    got = json.loads(out)
    sizes = {heap["heap"]: heap["peak_bytes"] for heap in got["logs"][0]["heaps"]}
    mp.equal(got["sum_of_peaks_bytes"], sum(sizes.values()) - sizes["host/python"], "sum of the peaks")


FORKED = '''import os, sys
kept = [(i, str(i)) for i in range(200000)]
pid = os.fork()
if not pid:
    del kept
    kept = [(i, str(i)) for i in range(300000)]
    del kept
    os._exit(0)
sys.exit(os.waitpid(pid, 0)[1])
'''


def test_forked_child_samples_its_own_small_objects():
    for python in interpreters():
        done = mp.run([python, "-W", "ignore", script(FORKED)], env={"MEMPROF_PYTHON": "small"})
        mp.equal(done.status, 0, f"{python}: {done.err}")
        for path in done.logs.paths():
            heap = heaps(path)["host/python"]
            mp.check(heap["peak_bytes"] > 4 * MIB, f"{python}: {path} has {heap['peak_bytes']} bytes")


THREADS = '''import threading
def churn():
    for _ in range(2):
        kept = [(i, str(i), [i] * (i % 70)) for i in range(10000)]
        for some in kept: some[2].extend([1] * 20)
kept = [(i, str(i)) for i in range(100000)]
threads = [threading.Thread(target=churn) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
try: import _interpreters as sub
except ImportError: import _xxsubinterpreters as sub
for _ in range(4):
    i = sub.create()
    sub.run_string(i, "kept = [(i, str(i)) for i in range(20000)]")
    sub.destroy(i)
print("done")
'''


def test_threads_and_subinterpreters_run_while_objects_are_sampled():
    for python, version in interpreters().items():
        mode = "sample" if version >= (3, 12) else "all"
        got, out = run(python, THREADS, MEMPROF_PYTHON="small", MEMPROF_STACKS=mode)
        mp.equal(out, "done\n", f"{python}, {mode}: output")
        mp.check("host/python" in got, f"{python}, {mode}: heaps {list(got)}")


TRACED = '''import sys, tracemalloc
def make(n): return [(i, str(i)) for i in range(n)]
if sys.argv[1] == "before": tracemalloc.start()
kept = make(100000)
if sys.argv[1] == "after": tracemalloc.start()
more = make(100000)
size, _ = tracemalloc.get_traced_memory()
tracemalloc.stop()
del kept, more
again = make(200000)
del again
print(size > 5 << 20)
'''


def test_tracemalloc_works_alongside_object_sampling():
    for python in interpreters():
        for when in ("before", "after"):
            path, result = record([python, script(TRACED), when], MEMPROF_PYTHON="small")
            mp.equal((result.status, result.out), (0, b"True\n"), f"{python}, {when}: {result.err}")
            mp.check("host/python" in heaps(path), f"{python}, {when}: sampled once tracemalloc stands aside")


def test_small_objects_are_not_sampled_without_pymalloc():
    for python in interpreters():
        for allocator in ("malloc", "pymalloc_debug"):
            got, out = run(python, LEAK, MEMPROF_PYTHON="small", PYTHONMALLOC=allocator)
            mp.check(int(out) > 20 * MIB and "host/python" not in got, f"{python}, {allocator}: {list(got)}")


def test_small_object_sampling_can_be_turned_off():
    python = next(iter(interpreters()))
    for env in ({"MEMPROF_PYTHON": "on"}, {"MEMPROF_PYTHON": "off"}, {"MEMPROF_PYTHON": "small", "MEMPROF_STACKS": "off"}):
        got, _ = run(python, LEAK, **env)
        mp.check("host/python" not in got, f"{env}: {list(got)}")


if __name__ == "__main__":
    mp.main()
