"""MEMPROF_WINDOW=profiler: memprof records only the small blocks that are allocated between cuProfilerStart and cuProfilerStop.
With `by-name` memprof hooks these calls without CUPTI.

CTest's environment: as for test_lost_frame.py, MEMPROF_NAIVE_READER, and MEMPROF_COMPANION with `by-name`."""
import json
import os
import subprocess
import sys
import tempfile

TIMEOUT = 60        # seconds; only a hang takes longer


def usable(size):
    """Returns the value of glibc's malloc_usable_size."""
    return (size + 8 + 15) // 16 * 16 - 8


with tempfile.TemporaryDirectory() as folder:
    log, fake = os.path.join(folder, "log.zst"), os.environ["FAKE_CUDA_DIR"]
    env = {**os.environ, "LD_PRELOAD": os.environ["MEMPROF_LIB"], "MEMPROF_OUT": log, "MEMPROF_QUIET": "1", "LD_LIBRARY_PATH": fake,
           "MEMPROF_CUPTI": f"{fake}/libcupti.so.13", "MEMPROF_WINDOW": "profiler"}
    if sys.argv[1:] == ["by-name"]:
        env.update(LD_PRELOAD=f"{env['LD_PRELOAD']}:{os.environ['MEMPROF_COMPANION']}", MEMPROF_CUDA="interpose")
    subprocess.run([os.path.join(os.environ["GPU_PROGRAMS"], "profiler")], env=env, timeout=TIMEOUT, check=True)
    live = [size for _, size in json.loads(subprocess.run([os.environ["MEMPROF_NAIVE_READER"], log], capture_output=True, check=True).stdout)["live"]]
    counts = [live.count(usable(size)) for size in (1111, 2222, 3333)]
    if counts != [0, 50, 0]:
        sys.exit(f"blocks on record of before, in and behind the window: {counts}")
    peaks = subprocess.run([os.environ["MEMPROF_REPORT"], "peaks", "--format", "json", log], capture_output=True, text=True, timeout=TIMEOUT)
    if json.loads(peaks.stdout)["logs"][0]["window_count"] != 1:
        sys.exit("not one window")
    check = subprocess.run([os.environ["GPU_CHECK"], log], capture_output=True, text=True, timeout=TIMEOUT)
    print(check.stdout, end="")
    sys.exit(check.returncode)
