"""The memory of unusual devices is recorded and measured: a part of a device (MIG), a device that uses host memory, for which
NVML has no figures, and a device whose memory is a NUMA node of the host.

CTest's environment: as for test_capture.py, and MEMPROF_REPORT."""
import json
import os
import subprocess
import sys
import tempfile
import time

TIMEOUT = 120       # seconds; only a hang takes longer
SLICE = 10 << 30    # bytes
NODE = "/sys/devices/system/node/node0/meminfo"     # of this machine
OTHERS = SLICE // 2  # bytes of other processes
KINDS = {"mig": {"FAKE_CUDA_MIG": "1"}, "shared": {"FAKE_CUDA_SHARED": "1"}, "node": {"FAKE_CUDA_NODE": "0", "FAKE_CUDA_OTHERS": str(OTHERS)}}


def output(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, **options)
    if done.returncode:
        sys.exit(f"{command} ended with {done.returncode} and printed: {done.stdout}{done.stderr}")
    return done.stdout


def check(condition, what):
    if not condition:
        sys.exit(what)


def environment(kind, log):
    fake = os.environ["FAKE_CUDA_DIR"]
    return {**os.environ, "LD_PRELOAD": os.environ["MEMPROF_LIB"], "MEMPROF_OUT": log, "MEMPROF_QUIET": "1", "LD_LIBRARY_PATH": fake,
            "MEMPROF_CUPTI": f"{fake}/libcupti.so.13", "FAKE_CUDA_TOTAL": str(SLICE), **KINDS[kind]}


def program_of(name):
    return os.path.join(os.environ["GPU_PROGRAMS"], name)


def record(program, kind, log):
    output(program_of(program), env=environment(kind, log))
    print(output(os.environ["GPU_CHECK"], log), end="")


def device_of(log, *options):
    done = subprocess.run([os.environ["MEMPROF_REPORT"], "peaks", "--format", "json", *options, log], capture_output=True, text=True,
                          timeout=TIMEOUT)
    devices = json.loads(done.stdout)["logs"][0].get("devices", []) if done.stdout else []
    return devices[0] if devices else None


def parts_of(device):
    return {p["part"]: p["bytes"] for p in device["parts"]} if device else {}


def file_cache(folder):
    """Files of this machine replace those in the device's memory. They are sampled within about 100 ms, or later on a
    busy machine."""
    log, late = os.path.join(folder, "log.zst"), ("--at", "end")
    if not os.path.exists(NODE):
        sys.exit(77)
    program = subprocess.Popen([program_of("idle")], env=environment("node", log), stdin=subprocess.PIPE, text=True)
    give_up = time.monotonic() + TIMEOUT
    while not parts_of(device_of(log, *late)).get("file_cache") and time.monotonic() < give_up:
        time.sleep(0.05)
    program.communicate(timeout=TIMEOUT)
    device = device_of(log, *late)
    parts = parts_of(device)
    check(program.returncode == 0, f"the program ended with {program.returncode}")
    check(parts.get("file_cache", 0) > 0, f"no file cache among {parts}")
    check(sum(parts.values()) == device["used_bytes"], f"the parts sum to {sum(parts.values())} of {device['used_bytes']}")
    check(parts["file_cache"] + parts["other_processes"] >= OTHERS, f"the memory of other processes and of the file cache: {parts}")


def main(kind):
    report = os.environ["MEMPROF_REPORT"]
    with tempfile.TemporaryDirectory() as folder:
        if kind == "node":
            return file_cache(folder)
        log, handles = (os.path.join(folder, f"{program}.zst") for program in ("allocations", "vmm"))
        record("allocations", kind, log)
        record("vmm", kind, handles)
        mapped = json.loads(output(report, "log", "info", "--format", "json", handles))["counts"]
        device = device_of(log)
        counts = json.loads(output(report, "log", "info", "--format", "json", log))["counts"]
        text = output(report, "peaks", log)
    shared = kind == "shared"
    check(device["uuid"].startswith("GPU-" if shared else "MIG-"), device["uuid"])
    check(device["total_bytes"] == SLICE, f"{device['total_bytes']} total bytes")
    check(SLICE > device["used_bytes"] >= device["tracked_bytes"] > 0, f"used {device['used_bytes']}, tracked {device['tracked_bytes']}")
    check(device.get("shared_with_host", False) == shared, "shared_with_host")
    check(("host and device share their memory" in text) == shared, text)
    check(not shared or (counts.get("SAMPLE_GPU") and mapped.get("SAMPLE_GPU")), f"no samples of the device: {counts}, {mapped}")


main(sys.argv[1])
