"""After a lost frame the log again has the device and the context of a thread's calls.

CTest's environment: as for test_capture.py, and MEMPROF_REPORT."""
import json
import os
import subprocess
import sys
import tempfile

TIMEOUT = 60        # seconds; only a hang takes longer

with tempfile.TemporaryDirectory() as folder:
    log, fake = os.path.join(folder, "log.zst"), os.environ["FAKE_CUDA_DIR"]
    env = {**os.environ, "LD_PRELOAD": os.environ["MEMPROF_LIB"], "MEMPROF_OUT": log, "MEMPROF_QUIET": "1", "MEMPROF_MIN_RSS": "0", "LD_LIBRARY_PATH": fake,
           "MEMPROF_CUPTI": f"{fake}/libcupti.so.13"}
    subprocess.run([os.path.join(os.environ["GPU_PROGRAMS"], "lost_frame")], env=env, timeout=TIMEOUT, check=True)
    peaks = subprocess.run([os.environ["MEMPROF_REPORT"], "peaks", "--format", "json", log], capture_output=True, text=True, timeout=TIMEOUT)
    report = json.loads(peaks.stdout)["logs"][0]
    if not report["lost_events"]:
        sys.exit("no frame was lost: nothing is tested")
    if not report.get("devices", [{}])[0].get("name"):
        sys.exit("the device has no name")
    check = subprocess.run([os.environ["GPU_CHECK"], log], capture_output=True, text=True, timeout=TIMEOUT)
    print(check.stdout, end="")
    sys.exit(check.returncode)
