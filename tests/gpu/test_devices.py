"""Devices of other kinds: a part of one (MIG), and one whose memory is the host's, of which NVML has no figures.  The log's books are
the program's, and what is used has been measured.

CTest's environment: as for test_capture.py, and MEMPROF_REPORT."""
import json
import os
import subprocess
import sys
import tempfile

TIMEOUT = 120       # seconds: a hang, not slowness
SLICE = 10 << 30    # bytes


def output(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, **options)
    if done.returncode:
        sys.exit(f"{command} ended with {done.returncode} and printed: {done.stdout}{done.stderr}")
    return done.stdout


def check(condition, what):
    if not condition:
        sys.exit(what)


def record(program, kind, log):
    fake = os.environ["FAKE_CUDA_DIR"]
    output(os.path.join(os.environ["GPU_PROGRAMS"], program),
           env={**os.environ, "LD_PRELOAD": os.environ["MEMPROF_LIB"], "MEMPROF_OUT": log, "MEMPROF_QUIET": "1", "LD_LIBRARY_PATH": fake,
                "MEMPROF_CUPTI": f"{fake}/libcupti.so.13", "FAKE_CUDA_TOTAL": str(SLICE), f"FAKE_CUDA_{kind.upper()}": "1"})
    print(output(os.environ["GPU_CHECK"], log), end="")


def main(kind):
    report = os.environ["MEMPROF_REPORT"]
    with tempfile.TemporaryDirectory() as folder:
        log, handles = (os.path.join(folder, f"{program}.zst") for program in ("walk", "vmm"))
        record("walk", kind, log)
        record("vmm", kind, handles)
        mapped = json.loads(output(report, "info", "--format", "json", handles))["counts"]
        device = json.loads(output(report, "peaks", "--format", "json", log))["logs"][0]["devices"][0]
        counts = json.loads(output(report, "info", "--format", "json", log))["counts"]
        text = output(report, "peaks", log)
    shared = kind == "shared"
    check(device["uuid"].startswith("GPU-" if shared else "MIG-"), device["uuid"])
    check(device["total_bytes"] == SLICE, f"{device['total_bytes']} bytes in all")
    check(SLICE > device["used_bytes"] >= device["tracked_bytes"] > 0, f"used {device['used_bytes']}, tracked {device['tracked_bytes']}")
    check(device.get("shared_with_host", False) == shared, "shared_with_host")
    check(("host and device share one pool" in text) == shared, text)
    check(not shared or (counts.get("SAMPLE_GPU") and mapped.get("SAMPLE_GPU")), f"nobody measured: {counts}, {mapped}")


main(sys.argv[1])
