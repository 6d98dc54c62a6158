"""With libmemprof-cuda.so before the driver's names, look-ups have the same results as without it, and calls through the
found functions are in the log.

CTest's environment: as for test_capture.py, MEMPROF_REPORT, MEMPROF_COMPANION (that library), GPU_INTERPOSER,
GPU_INTERPOSER_BY_HANDLE, and GPU_CHAIN (the last library of the chain)."""
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TIMEOUT = 120       # seconds; only a hang takes longer
FAKE = os.environ.get("FAKE_CUDA_DIR")
LIB, COMPANION = os.environ["MEMPROF_LIB"], os.environ["MEMPROF_COMPANION"]


def run(program, *arguments, **env):
    if FAKE:
        env = {"LD_LIBRARY_PATH": FAKE, "MEMPROF_CUPTI": f"{FAKE}/libcupti.so.13", **env}
    done = subprocess.run([os.path.join(os.environ["GPU_PROGRAMS"], program), *arguments], env={**os.environ, **env}, timeout=TIMEOUT,
                          capture_output=True, text=True)
    if done.returncode or done.stderr:
        sys.exit(f"{program} under {env} ended with {done.returncode} and printed: {done.stdout}{done.stderr}")
    return done.stdout


def same(preload, bare, program, *arguments, check=True, **env):
    """Checks that the program prints the same under memprof as without it, and that its counters agree with the log."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log.zst")
        output = run(program, *arguments, LD_PRELOAD=":".join(preload), MEMPROF_OUT=log, MEMPROF_QUIET="1", **env)
        if output != bare:
            sys.exit(f"{program} under {preload} {env} was to say:\n{bare}\nand said:\n{output}")
        if not check:
            return
        done = subprocess.run([os.environ["GPU_CHECK"], log], timeout=TIMEOUT, capture_output=True, text=True)
        print(done.stdout, end="")
        if done.returncode:
            sys.exit(f"{program} under {preload} {env}")


def modes():
    """Yields the settings that record by name (it is requested, CUPTI is off, another tool has CUPTI), and one that
    uses CUPTI with the library loaded."""
    yield {"MEMPROF_CUDA": "interpose"}
    yield {"MEMPROF_CUPTI": "off"}
    yield {}
    if FAKE:
        yield {"FAKE_CUPTI_BUSY": "1"}


def ways():
    bare = run("lookups")
    for mode in modes():
        same([LIB, COMPANION], bare, "lookups", **mode)
        same([COMPANION, LIB], bare, "lookups", **mode)
    same([LIB, COMPANION], bare, "lookups", check=False, MEMPROF_CUDA="off")
    same([LIB, COMPANION], bare, "lookups", check=False, MEMPROF_CUDA="interpose", MEMPROF_PROGRAM="another")
    if run("lookups", LD_PRELOAD=COMPANION) != bare:
        sys.exit("without libmemprof.so the look-ups answer something else")


def interposer():
    """Another library before the driver's names is called as often as without memprof, whether it is loaded before our
    library or after it."""
    kinds = os.environ["GPU_INTERPOSER"], os.environ["GPU_INTERPOSER_BY_HANDLE"]
    for other, program in itertools.product(kinds, ("allocations", "vmm", "lookups")):
        bare = run(program, LD_PRELOAD=other)
        for preload in [LIB, other, COMPANION], [LIB, COMPANION, other], [other, LIB, COMPANION]:
            same(preload, bare, program, MEMPROF_CUDA="interpose")


def searched(program, *arguments, **env):
    """Returns the program's output, and whether the loader searches the disk for the driver."""
    with tempfile.TemporaryDirectory() as folder:
        output = run(program, *arguments, LD_DEBUG="libs", LD_DEBUG_OUTPUT=os.path.join(folder, "loader"), **env)
        traces = [pathlib.Path(file.path).read_text() for file in os.scandir(folder)]
    if not any("find library=" in text for text in traces):
        sys.exit(f"the loader tells nothing of {program}")
    return output, any("libcuda.so" in text for text in traces)


def chain():
    last = os.environ["GPU_CHAIN"]
    bare = run("chains", last)
    if searched("chains", last, LD_PRELOAD=COMPANION) != (bare, False):
        sys.exit("the library alone changes what look-ups find, or has the driver searched for")
    same([LIB, COMPANION], bare, "chains", last, check=False)
    print(bare, end="")


def peaks(preload, **env):
    """Returns the report's facts and stacks for the device of vmm with these settings."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log.zst")
        run("vmm", LD_PRELOAD=":".join(preload), MEMPROF_OUT=log, MEMPROF_QUIET="1", **env)
        done = subprocess.run([os.environ["MEMPROF_REPORT"], "peaks", "--by", "stack", "--format", "json", log], timeout=TIMEOUT,
                              capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)["logs"][0]
    heap = [heap for heap in report["heaps"] if heap["heap"] == "gpu0/device"]
    return report.get("devices", []), heap[0]["ranges"] if heap else []


def report():
    """The report has the same call stacks as with CUPTI, and the reason for recording by name. With MEMPROF_CUDA=off it
    has no device."""
    both = [LIB, COMPANION]
    devices, stacks = peaks(both)
    if not stacks or "driver_calls_by_name" in devices[0]:
        sys.exit(f"by CUPTI: {devices[0]} {stacks}")
    reasons = [({"MEMPROF_CUDA": "interpose"}, "MEMPROF_CUDA=interpose"), ({"MEMPROF_CUPTI": "off"}, "MEMPROF_CUPTI=off")]
    if FAKE:
        reasons.append(({"FAKE_CUPTI_BUSY": "1"}, "another tool"))
    for mode, reason in reasons:
        devices, stacks_by_name = peaks(both, **mode)
        reason_given = devices[0].get("driver_calls_by_name", "")
        if stacks_by_name != stacks or not reason_given.startswith(reason):
            sys.exit(f"{mode}: {reason_given}, and\n{stacks_by_name}\nwhere CUPTI has\n{stacks}")
    if peaks(both, MEMPROF_CUDA="off") != ([], []):
        sys.exit("with MEMPROF_CUDA=off the report has a device")


def missing():
    """Without the library memprof uses CUPTI and prints a warning."""
    with tempfile.TemporaryDirectory() as folder:
        fake = {"LD_LIBRARY_PATH": FAKE, "MEMPROF_CUPTI": f"{FAKE}/libcupti.so.13"} if FAKE else {}
        log = os.path.join(folder, "log.zst")
        done = subprocess.run([os.path.join(os.environ["GPU_PROGRAMS"], "allocations")], timeout=TIMEOUT, capture_output=True, text=True,
                              env={**os.environ, **fake, "LD_PRELOAD": LIB, "MEMPROF_OUT": log, "MEMPROF_CUDA": "interpose"})
        if done.returncode or "MEMPROF_CUDA=interpose needs libmemprof-cuda.so" not in done.stderr:
            sys.exit(f"allocations ended with {done.returncode} and printed: {done.stdout}{done.stderr}")
        check = subprocess.run([os.environ["GPU_CHECK"], log], timeout=TIMEOUT, capture_output=True, text=True)
        print(check.stdout, end="")
        sys.exit(check.returncode)


{"ways": ways, "interposer": interposer, "chain": chain, "report": report, "missing": missing}[sys.argv[1]]()
