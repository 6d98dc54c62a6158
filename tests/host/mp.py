"""Runs programs under libmemprof.so and reads memprof-report's output about them.

A test file has functions test_NAME and slow_NAME. CMake calls the file with --list to get their names, and makes each a
CTest test. Each test gets its own folder, which is removed if the test passes. CTest's environment has the paths:
MEMPROF_LIB, MEMPROF_REPORT, MEMPROF_NAIVE_READER and MEMPROF_VICTIMS (the folder of the victim programs). If these are
built for another processor, MEMPROF_EMULATOR has the command that runs them."""
import collections
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
TIMEOUT = 60       # seconds; only a hang takes longer
TIMEOUT_SLOW = 3000     # for a torture run, which takes minutes if threads wait for each other
INCOMPLETE = 3      # memprof-report's exit code

EMULATOR = os.environ.get("MEMPROF_EMULATOR", "").split()      # the command that runs programs of another processor

folder = None       # the folder of the running test


class Skip(Exception):
    """Raised if the machine does not have what the test needs."""


def victim(name):
    return os.path.join(os.environ["MEMPROF_VICTIMS"], name)


def library():
    return os.environ["MEMPROF_LIB"]


def hooks():
    """Returns the names of the functions that memprof hooks."""
    with open(os.environ["MEMPROF_HOOKS"], encoding="ascii") as f:
        return set(re.findall(r"^MP_HOOK\((\w+)\)", f.read(), re.MULTILINE))


def fresh(name="logs"):
    """Creates a new folder below the test's folder."""
    return tempfile.mkdtemp(prefix=name + ".", dir=folder)


def environment(logs, preload=(), before=(), **more):
    """Returns the environment of a program whose logs go to the folder `logs`, named by process ID."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MEMPROF_") and k != "NVTX_INJECTION64_PATH"}
    env["LD_PRELOAD"] = " ".join([*before, library(), *preload])
    env["MEMPROF_OUT"] = os.path.join(logs, "%p.zst")
    env["MEMPROF_MIN_RSS"] = "0"
    env.update(more)
    return {k: v for k, v in env.items() if v is not None}


def emulated(argv):
    """Returns the command that runs a program. If another processor is emulated, the program must be one of the tests'
    programs."""
    if EMULATOR and os.environ["MEMPROF_VICTIMS"] not in argv[0]:
        raise Skip(f"{argv[0]} is not of the emulated processor")
    if EMULATOR and not os.path.exists(argv[0]):
        raise Skip(f"{argv[0]} was not built: no C++ compiler for the emulated processor")
    return [*EMULATOR, *argv]


Result = collections.namedtuple("Result", "status out err logs")


ALLOCATORS = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4", "mimalloc": "libmimalloc.so.2"}


def allocator(name):
    """Returns the libraries that follow memprof in LD_PRELOAD, so that this allocator serves malloc."""
    if name == "glibc":
        return ()
    if EMULATOR:
        raise Skip("other allocators are not of the emulated processor")
    _, _, err = bare(["/bin/true"], env={"LD_PRELOAD": ALLOCATORS[name]})
    if err:
        raise Skip(f"{ALLOCATORS[name]} is not installed")
    return (ALLOCATORS[name],)


def bare(argv, **popen):
    """Runs a program without memprof and returns (status, stdout, stderr)."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MEMPROF_")}
    done = subprocess.run(emulated(argv), env={**env, **popen.pop("env", {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=TIMEOUT, **popen)
    return done.returncode, done.stdout, done.stderr


def start(argv, logs, preload=(), before=(), env=None, **popen):
    """Starts a program under memprof and returns its subprocess.Popen."""
    return subprocess.Popen(emulated(argv), env=environment(logs, preload, before, **(env or {})), **popen)


def finish(process, argv, logs, status=0):
    """Waits for a program that `start` started. If it hangs, its whole process group is killed."""
    try:
        out, err = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise AssertionError(f"{argv} hangs")
    if status is not None:
        check(process.returncode == status, f"{argv} ended with {process.returncode}, not {status}: {err}")
    return Result(process.returncode, out, err, Logs(logs))


def run(argv, preload=(), before=(), env=None, status=0, **popen):
    """Runs a program under memprof to its end, in its own process group, and returns a Result."""
    logs = fresh()
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = start(argv, logs, preload, before, env, start_new_session=True, **{**pipes, **popen})
    return finish(process, argv, logs, status)


class Logs:
    """The logs in a folder."""

    def __init__(self, where):
        self.folder = where

    def paths(self):
        return sorted(os.path.join(self.folder, f) for f in os.listdir(self.folder) if f.endswith(".zst"))

    def journals(self):
        return sorted(os.path.join(self.folder, f) for f in os.listdir(self.folder) if f.endswith(".journal"))

    def all(self):
        return [Log(p) for p in self.paths()]

    def of(self, pid):
        return Log(os.path.join(self.folder, f"{pid}.zst"))

    def one(self):
        paths = self.paths()
        check(len(paths) == 1, f"one log expected: {paths}")
        return Log(paths[0])


class Log:
    """The output of `memprof-report peaks` for one log. exit: its exit status."""

    def __init__(self, path, *options):
        self.path = path
        done = subprocess.run([os.environ["MEMPROF_REPORT"], "peaks", "--by", "range", "--format", "json", *options, path],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT)
        self.exit = done.returncode
        check(done.returncode in (0, INCOMPLETE), f"memprof-report ended with {done.returncode}: {done.stderr.decode()}")
        report = json.loads(done.stdout)
        check(report["schema"] == "memprof.peaks/1", report["schema"])
        self.json, = report["logs"]
        self.process = self.json["process"]

    def at_end(self):
        """Returns the same log with the ranges as of its end instead of the peak."""
        return Log(self.path, "--at", "1000000s")

    def heap(self, name="host/heap"):
        empty = dict.fromkeys(["peak_bytes", "end_bytes", "blocks_at_peak", "allocations", "frees", "failures"], 0)
        return next((h for h in self.json["heaps"] if h["heap"] == name), {**empty, "ranges": []})

    def live_blocks(self, name="host/heap"):
        return self.heap(name)["allocations"] - self.heap(name)["frees"]

    def ranges(self, name="host/heap"):
        """Returns {path: range}, with paths joined by " > ". The path "" is memory outside any range."""
        return {" > ".join(r["path"]): r for r in self.heap(name)["ranges"]}

    def range(self, path, name="host/heap"):
        check(path in self.ranges(name), f"no range {path!r}: {list(self.ranges(name))}")
        return self.ranges(name)[path]


def whole(log):
    """Checks that a log ended regularly: no event was lost, and nothing is inconsistent."""
    check(log.exit == 0 and log.json["complete"], f"{log.path} is not complete (exit {log.exit})")
    nothing_missing(log)


def nothing_missing(log, max_torn=0):
    """Checks a log of a killed process. max_torn: threads that the kill may have interrupted while they stored an
    event."""
    for key in ("lost_events", "unmatched_frees", "missed_frees", "damaged_places", "missing_frames"):
        equal(log.json[key], 0, f"{log.path}: {key}")
    within(log.json["torn_events"], 0, max_torn, f"{log.path}: torn_events")


def naive_reader(path):
    """Returns what naive_reader.c reads from a log. It shares no code with memprof-report except the format."""
    done = subprocess.run([os.environ["MEMPROF_NAIVE_READER"], path], stdout=subprocess.PIPE, timeout=TIMEOUT, check=True)
    return json.loads(done.stdout)


def wait_for(condition):
    """Waits until the condition holds."""
    end = time.monotonic() + TIMEOUT
    while not condition():
        check(time.monotonic() < end, "the condition did not become true in time")
        time.sleep(0.01)


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def equal(got, expected, what):
    check(got == expected, f"{what}: {got}, expected {expected}")


def within(got, low, high, what):
    check(low <= got <= high, f"{what}: {got}, expected {low} to {high}")


def limit(which, value):
    """Returns a function for preexec_fn that sets this limit."""
    return lambda: resource.setrlimit(which, (value, value))


def main():
    global folder, TIMEOUT
    tests = {k: v for k, v in vars(sys.modules["__main__"]).items() if k.startswith(("test_", "slow_"))}
    if sys.argv[1:] == ["--list"]:
        print(";".join(tests), end="")
        return
    folder = tempfile.mkdtemp(prefix="memprof-test.")
    if sys.argv[1].startswith("slow_"):
        TIMEOUT = TIMEOUT_SLOW
    try:
        tests[sys.argv[1]]()
    except Skip as reason:
        print(f"skipped: {reason}")
        shutil.rmtree(folder)
        sys.exit(SKIPPED)
    except BaseException:
        print(f"the test files are in {folder}", file=sys.stderr)
        raise
    shutil.rmtree(folder)
