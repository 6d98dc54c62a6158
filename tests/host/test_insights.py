"""`memprof-report summary --all` finds the known problems of programs that ran."""
import json
import os
import subprocess
import sys

import mp

FREED = 2000 * (64 << 10)       # bytes; see retained_pages.c
WORKERS, SAMPLES = 4, 400000
OBJECTS = SAMPLES * 112         # a bytes object of 64 bytes has 97, and pymalloc rounds sizes up to multiples of 16

# Like a DataLoader: forked workers read what the parent has loaded, or each loads it separately, until standard input
# is closed.
LOADER = """
import array, multiprocessing, sys
kind, workers, samples = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def objects():
    return [b"%064d" % number for number in range(samples)]
def work(loaded, over):
    own = objects() if kind == "made" else loaded
    while not over.is_set():
        sum(own[::512] if kind == "numbers" else map(len, own))
        for _ in range(1000): bytearray(8192)
fork = multiprocessing.get_context("fork")
loaded, over = {"objects": objects, "numbers": lambda: array.array("q", bytes(112 * samples)), "made": list}[kind](), fork.Event()
started = [fork.Process(target=work, args=(loaded, over)) for _ in range(workers)]
for process in started: process.start()
sys.stdin.read()
over.set()
for process in started: process.join()
"""


def kept(*arguments, **environment):
    path = mp.run([mp.victim("retained_pages"), *arguments], env=environment).logs.one().path
    report = subprocess.run([os.environ["MEMPROF_REPORT"], "summary", "--all", "--format", "json", path], stdout=subprocess.PIPE, timeout=mp.TIMEOUT, text=True, check=True)
    return [f for f in json.loads(report.stdout)["findings"] if f["finding"] == "retention"]


def test_insights_finds_free_pages_that_malloc_keeps():
    """Blocks below a live block were freed. glibc keeps their pages, although no block uses them."""
    found = kept(GLIBC_TUNABLES="glibc.malloc.mmap_threshold=1048576")
    mp.equal(len(found), 1, "findings of kept pages")
    numbers = found[0]["numbers"]
    mp.check(FREED * 0.9 < numbers["kept_bytes"] <= FREED * 1.01 and numbers["fallen_bytes"] >= FREED, found)     # headers are more
    mp.check(numbers["live_bytes"] < FREED / 10 and "malloc_trim(0)" in found[0]["change"], found)


def test_insights_ignores_pages_that_malloc_returns():
    """The same blocks, each in its own mapping."""
    mp.equal(kept(GLIBC_TUNABLES="glibc.malloc.mmap_threshold=4096"), [], "findings of memory that was given back")


def test_insights_ignores_static_memory_touched_after_malloc_returned_pages():
    """The same blocks, then as much static memory."""
    mp.equal(kept("static", GLIBC_TUNABLES="glibc.malloc.mmap_threshold=4096"), [], "static memory")


def report(command, logs):
    """Reports on running processes have findings about them and end with status 0."""
    done = subprocess.run([os.environ["MEMPROF_REPORT"], *command, "--format", "json", *logs], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          timeout=mp.TIMEOUT, text=True)
    return json.loads(done.stdout) if done.stdout else None


def of_workers(kind, enough):
    """Returns the findings about workers, once `enough` is true for the paths of the logs."""
    argv, folder = [sys.executable, "-c", LOADER, kind, str(WORKERS), str(SAMPLES)], mp.fresh()
    process, logs = mp.start(argv, folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True), mp.Logs(folder)
    mp.wait_for(lambda: len(logs.paths()) == 1 + WORKERS and enough(logs.paths()))
    mp.finish(process, argv, folder)
    return found(logs.paths())


def found(logs):
    summary = report(["summary", "--all"], logs)
    return {f["finding"]: f["numbers"] for f in summary["findings"] if f["finding"] in ("workers", "copied_pages")} if summary else {}


def of_all(logs, key):
    """Returns the smallest value among the workers, once all workers are listed."""
    numbers = found(logs).get(key, {})
    return numbers["least_bytes"] if numbers.get("workers") == WORKERS else 0


def test_insights_finds_objects_that_reference_counts_copy():
    """Reference counting writes to the objects, so each worker gets its own copy although it made none."""
    findings = of_workers("objects", lambda logs: of_all(logs, "copied_pages") > OBJECTS * 0.9)
    mp.equal(list(findings), ["copied_pages"], "findings")
    numbers = findings["copied_pages"]
    mp.within(numbers["least_bytes"], OBJECTS * 0.9, OBJECTS + (16 << 20), "a worker's copies")
    mp.within(numbers["most_bytes"], OBJECTS * 0.9, OBJECTS + (16 << 20), "a worker's copies")
    mp.within(numbers["parent_bytes"], OBJECTS * 0.9, OBJECTS + (32 << 20), "bytes of the parent")


def test_insights_ignores_arrays_that_workers_only_read():
    """As many bytes without reference counts are not copied."""
    def sampled(logs):
        peaks = report(["peaks", "--all"], logs)
        return peaks and all("rss" in log["largest"] and log["largest"]["rss"]["private_dirty_bytes"] for log in peaks["logs"])
    mp.equal(of_workers("numbers", sampled), {}, "findings")


def test_insights_finds_objects_that_every_worker_creates():
    """The objects are in pymalloc's arenas, which are mappings."""
    findings = of_workers("made", lambda logs: of_all(logs, "workers") > OBJECTS * 0.9)
    mp.equal((list(findings), findings["workers"]["workers"]), (["workers"], WORKERS), "findings")
    mp.within(findings["workers"]["most_bytes"], OBJECTS * 0.9, OBJECTS + (16 << 20), "bytes of a worker")


if __name__ == "__main__":
    mp.main()
