"""Runs one unit of a program's tests with or without memprof, and checks its logs with memprof-report."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../host"))
import mp  # noqa: E402: has the names of the allocators

BARE, MEMPROF = "bare", "memprof"
LATE = 124          # the status of reap.py for a unit that timed out
FAULTS = ("lost_events", "torn_events", "unmatched_frees", "missed_frees", "damaged_places", "missing_frames")
USER = "nobody"     # tests that expect refusals need an ordinary user


def user():
    return USER if os.getuid() == 0 else "-"


def own(path):
    """Changes the owner of a tree to the user of the tests."""
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", f"{USER}:nogroup", path], check=True)


def preloads(way, allocator, library):
    served = [] if allocator == "glibc" else [mp.ALLOCATORS[allocator]]
    return " ".join(([library] if way == MEMPROF else []) + served)


def environment(scratch, way, allocator, library):
    """Returns a minimal environment, which has only PATH from the caller."""
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": f"{scratch}/home", "TMPDIR": f"{scratch}/tmp", "USER": USER,
           "LOGNAME": USER, "REAP_PRELOAD": preloads(way, allocator, library)}
    if way == MEMPROF:
        # Without the line at the end of a program, because tests that expect an empty stderr would fail.
        env.update(MEMPROF_OUT=f"{scratch}/logs/%p.zst", MEMPROF_MIN_RSS="0", MEMPROF_SUMMARY="0")
    return env


def reap(command, seconds, **popen):
    return subprocess.run([sys.executable, f"{HERE}/reap.py", str(seconds), user(), *command], stdin=subprocess.DEVNULL, check=False, **popen)


def verified(report, logs):
    """Returns (number of logs, sums of counts that should be 0, errors while reading them)."""
    if not os.listdir(logs):
        return 0, {}, ""
    done = reap([report, "log", "verify", "--format", "json", logs], 600, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        document = json.loads(done.stdout)
        found = document.get("logs", [document])
    except ValueError:
        return 0, {}, f"memprof-report ended with {done.returncode}: {done.stderr.decode(errors='replace')[-300:]}"
    sums = {key: sum(log[key] for log in found) for key in FAULTS}
    files = [f for f in os.listdir(logs) if f.endswith(".zst")]
    missing = "" if len(files) == len(found) else f"{len(files)} logs, of which {len(found)} could be read"
    return len(found), {k: v for k, v in sums.items() if v}, missing


def run(program, unit, way, allocator, work, tools):
    """Runs one attempt and returns {"tests": {name: result}, "status", "seconds", "logs", "faults", "unread"}. tools: (libmemprof.so,
        memprof-report). The folder is kept if a log is not as expected."""
    os.makedirs(f"{work}/s", exist_ok=True)
    scratch = tempfile.mkdtemp(prefix="", dir=f"{work}/s")
    for name in ("home", "tmp", "logs"):
        os.mkdir(f"{scratch}/{name}")
    own(scratch)
    command = program.command(work, unit, scratch)
    env = {**environment(scratch, way, allocator, tools[0]), **program.env}
    begun = time.monotonic()
    with open(f"{scratch}/out", "wb") as out:
        done = reap(command, program.seconds, env=env, cwd=program.folder(work), stdout=out, stderr=subprocess.STDOUT)
    with open(f"{scratch}/out", encoding="utf-8", errors="replace") as f:
        text = f.read().replace(scratch, "SCRATCH")         # a different path each time, which also occurs in names of tests
    tests = {f"{unit}: {name}": result for name, result in program.read(work, unit, scratch, text).items()}
    tests[f"{unit}: status"] = "passed" if done.returncode == 0 else f"status {done.returncode}"
    seconds = round(time.monotonic() - begun, 1)
    logs, faults, unread = verified(tools[1], f"{scratch}/logs")
    result = {"tests": tests, "seconds": seconds, "logs": logs, "faults": faults, "unread": unread, "output": text[-20000:]}
    if faults or unread:
        result["kept"] = scratch
    else:
        shutil.rmtree(scratch)
    return result
