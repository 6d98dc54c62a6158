"""If another tool uses CUPTI, or memprof must not use it, NVML's figures of the process's device are still recorded.

CTest's environment: as for test_capture.py, and MEMPROF_REPORT."""
import json
import os
import subprocess
import sys
import tempfile
import time

TIMEOUT = 60        # seconds; only a hang takes longer


def devices(log):
    done = subprocess.run([os.environ["MEMPROF_REPORT"], "peaks", "--format", "json", log], capture_output=True, text=True)
    return json.loads(done.stdout)["logs"][0].get("devices", []) if done.stdout else []


def used_bytes(log):
    """Waits until the log has the figures."""
    give_up = time.monotonic() + TIMEOUT
    while time.monotonic() < give_up:
        for device in devices(log):
            if device.get("used_bytes"):
                return device["used_bytes"]
        time.sleep(0.05)
    sys.exit("the log has no used bytes of the device")


def main(**env):
    fake = os.environ["FAKE_CUDA_DIR"]
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log.zst")
        env = {"LD_PRELOAD": os.environ["MEMPROF_LIB"], "MEMPROF_OUT": log, "LD_LIBRARY_PATH": fake, "MEMPROF_CUPTI": f"{fake}/libcupti.so.13", **env}
        program = subprocess.Popen([os.path.join(os.environ["GPU_PROGRAMS"], "idle")], env={**os.environ, **env}, stdin=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        used = used_bytes(log)
        err = program.communicate(timeout=TIMEOUT)[1]
        why = "MEMPROF_CUPTI=off" if env["MEMPROF_CUPTI"] == "off" else "another tool (a tool of the test) uses CUPTI"
        if program.returncode != 0 or f"CUDA allocations are not recorded: {why}" not in err:
            sys.exit(f"the program ended with {program.returncode} and printed: {err}")
        if used < 64 << 20:
            sys.exit(f"{used} bytes used: less than the program holds")


main(**dict(word.split("=") for word in sys.argv[1:]))
