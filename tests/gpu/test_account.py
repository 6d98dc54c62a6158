"""The account of a device has uses for memory that no allocation call requested, at any instant.

test_account.py synchronized|unseen|refused

synchronized, unseen: local memory of kernels, also if the process ends before the sampler's next sample.
refused: a sample is taken at each refused request.
CTest's environment: as for test_capture.py, and MEMPROF_REPORT."""
import json
import os
import subprocess
import sys
import tempfile

TIMEOUT = 120       # seconds; only a hang takes longer
SLACK = 4 << 20     # bytes; the driver allocates in such units
READINGS = 16 << 20 # bytes; NVML's figures of one time differ by up to this much


def record(log, program, *words):
    fake = os.environ.get("FAKE_CUDA_DIR")
    env = {**os.environ, "LD_PRELOAD": os.environ["MEMPROF_LIB"], "MEMPROF_OUT": log, "MEMPROF_QUIET": "1"}
    if fake:
        env.update(LD_LIBRARY_PATH=fake, MEMPROF_CUPTI=f"{fake}/libcupti.so.13")
    return subprocess.run([os.path.join(os.environ["GPU_PROGRAMS"], program), *words], env=env, capture_output=True, text=True, timeout=TIMEOUT).stdout


def report(*words):
    done = subprocess.run([os.environ["MEMPROF_REPORT"], *words, "--format", "json"], capture_output=True, text=True, timeout=TIMEOUT)
    return json.loads(done.stdout)


def local_memory(log, way):
    grew = int(record(log, "local_memory", way))
    device = report("peaks", "--at", "end", log)["logs"][0]["devices"][0]
    parts = {part["part"]: part["bytes"] for part in device["parts"]}
    print(f"grew {grew}, {parts}")
    return grew > 1 << 30 and abs(parts["local_memory"] - grew) <= SLACK and abs(parts["unknown"]) <= READINGS


def refused(log):
    record(log, "oom")
    counts = report("log", "info", log)["counts"]
    print(counts["GPU_FAIL"], counts["SAMPLE_GPU"])
    failures = counts["GPU_FAIL"]
    return failures >= 2 and counts["SAMPLE_GPU"] >= failures + 1


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "log.zst")
    sys.exit(not (refused(path) if sys.argv[1] == "refused" else local_memory(path, sys.argv[1])))
