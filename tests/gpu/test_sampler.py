"""A thread samples a device's used memory while the program is idle.

big_tls: the thread starts in a program with 3 MiB of static thread-local storage.
no_threads: if the thread cannot be started, stderr and reports contain a message.
CTest's environment: as for test_capture.py, and MEMPROF_REPORT."""
import os
import subprocess
import sys
import tempfile
import time

TIMEOUT = 60        # seconds; only a hang takes longer
NOT_SAMPLED = "the thread memprof-gpu cannot be started"


def report(*command):
    return subprocess.run([os.environ["MEMPROF_REPORT"], *command], capture_output=True, text=True, timeout=TIMEOUT, check=False).stdout


def names(process):
    folder = f"/proc/{process.pid}/task"
    return [open(f"{folder}/{t}/comm", encoding="utf-8").read().strip() for t in os.listdir(folder)]


def wait_for(condition):
    give_up = time.monotonic() + TIMEOUT
    while not condition():
        if time.monotonic() > give_up:
            return False
        time.sleep(0.02)
    return True


def check(condition, what):
    if not condition:
        sys.exit(what)


with tempfile.TemporaryDirectory() as folder:
    log, fake = os.path.join(folder, "log.zst"), os.environ["FAKE_CUDA_DIR"]
    env = {**os.environ, "LD_PRELOAD": os.environ["MEMPROF_LIB"], "MEMPROF_OUT": log, "LD_LIBRARY_PATH": fake,
           "MEMPROF_CUPTI": f"{fake}/libcupti.so.13", "FAKE_CUDA_OTHERS": "0"}
    process = subprocess.Popen([os.path.join(os.environ["GPU_PROGRAMS"], sys.argv[1])], env=env, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    starts = sys.argv[1] == "big_tls"
    started = starts and wait_for(lambda: "memprof-gpu" in names(process))
    _, err = process.communicate(timeout=TIMEOUT)
    text = report("peaks", log)
    check(started == starts, "no thread memprof-gpu")
    check((NOT_SAMPLED in err) == (not starts), err)
    check((NOT_SAMPLED in text) == (not starts), text)
