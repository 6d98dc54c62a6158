#!/usr/bin/env python3
"""Measures the Python package memprof_report. MEMPROF_BUILD: the build folder (build/release).

usage: bench/python/bench.py ranges                 processor time of ranges and marks, with and without memprof
       bench/python/bench.py blocks [BLOCKS]        rows per second of blocks(), of a log with about 3.6 times as many blocks
       bench/python/bench.py pytest [TESTS [ROUNDS]]    a suite bare, with --memprof and with limits, in interleaved rounds"""
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import timeit

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, os.environ.get("MEMPROF_BUILD", "build/release"))
PACKAGE = os.path.join(TOP, "python")
sys.path.insert(0, PACKAGE)

SUITE = """
import json, pytest
DATA = json.dumps([{{"id": i, "name": "n%d" % i, "tags": ["a", "b"]}} for i in range(2000)])

@pytest.mark.parametrize("n", range({tests}))
def test_load(n):
    rows = json.loads(DATA)
    assert sorted(rows, key=lambda row: row["name"])[0]["id"] >= 0
"""
CHURN = """
keep = [bytearray(100 + i % 900) for i in range({blocks} // 5 * 2)]
for i in range({blocks} // 5 * 3):
    bytearray(600)
"""


def environment(**more):
    tools = {"MEMPROF": "launcher/memprof", "MEMPROF_LIB": "preload/libmemprof.so", "MEMPROF_REPORT": "postproc/memprof-report"}
    path = os.pathsep.join(filter(None, [PACKAGE, os.environ.get("PYTHONPATH")]))
    return {**os.environ, **{name: os.path.join(BUILD, tool) for name, tool in tools.items()}, "PYTHONPATH": path, **more}


def record(words, logs, **more):
    env = environment(**more)
    subprocess.run([env["MEMPROF"], "run", "-q", "-o", logs, "--", sys.executable, *words], env=env, check=True)


def time_ranges():
    """Prints ns of the thread's processor time per call, the least of five rounds."""
    import memprof_report

    def made():
        with memprof_report.range("step 7"):
            pass

    @memprof_report.range("f")
    def decorated():
        pass

    def plain():
        pass
    for name, function in (("with range(name)", made), ("decorated", decorated), ("undecorated", plain), ("snapshot", lambda: memprof_report.snapshot("x"))):
        ns = min(timeit.repeat(function, number=200_000, repeat=5, timer=time.thread_time)) / 200_000 * 1e9
        print(f"{'recorded' if memprof_report.recorded() else 'bare':9}{name:18}{ns:6.0f} ns")


def ranges():
    words = [os.path.abspath(__file__), "time_ranges"]
    subprocess.run([sys.executable, *words], env=environment(), check=True)
    with tempfile.TemporaryDirectory() as place:
        record(words, os.path.join(place, "logs"))


def blocks(count=1_000_000):
    import memprof_report
    os.environ.update(environment())
    with tempfile.TemporaryDirectory() as place:
        record(["-c", CHURN.format(blocks=int(count))], os.path.join(place, "logs"), PYTHONMALLOC="malloc")
        for pandas in (None, False):
            log = memprof_report.open(os.path.join(place, "logs"), pandas=pandas)
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            log.database()
            print(f"export {resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before:.2f} s")
            for columns in (None, ["bytes", "made_ns", "freed_ns", "range"]):
                start = time.process_time()
                rows = log.blocks(columns=columns)
                spent = time.process_time() - start
                print(f"{type(rows).__name__} of {len(rows):,} blocks, {'all' if not columns else len(columns)} columns: {spent:.2f} s, {len(rows) / spent:,.0f} a second")


def pytest(tests=1000, rounds=9):
    """Prints the processor time of all processes: the least, and the median."""
    with tempfile.TemporaryDirectory() as place:
        with open(os.path.join(place, "test_many.py"), "w") as file:
            file.write(SUITE.format(tests=tests))
        env, logs = environment(), os.path.join(place, "logs")
        suite = [sys.executable, "-m", "pytest", "-q", "-p", "memprof_report.pytest_plugin", "-p", "no:cacheprovider"]
        run, limits = [env["MEMPROF"], "run", "-q", "-o", logs, "--"], ["--memprof-limit-memory=1GB", "--memprof-limit-leaks=64MB"]
        commands = {"pytest": suite, "memprof run -- pytest --memprof": [*run, *suite, "--memprof"],
                    "memprof run -- pytest --memprof, limits of all tests": [*run, *suite, "--memprof", *limits], "pytest --memprof": [*suite, "--memprof"]}
        results = {name: [] for name in commands}
        for name in [*results] * int(rounds):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(commands[name], cwd=place, env=env, stdout=subprocess.DEVNULL, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            results[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        bare = results["pytest"]
        for name, times in results.items():
            pairs = [time / other - 1 for time, other in zip(times, bare)]
            print(f"{name:54}{min(times):6.2f} s, median {statistics.median(times):5.2f} s, {min(times) / min(bare) - 1:+.1%} and {statistics.median(pairs):+.1%}")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ("ranges", "time_ranges", "blocks", "pytest"):
        sys.exit(__doc__)
    globals()[sys.argv[1]](*sys.argv[2:])
