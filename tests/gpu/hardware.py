"""Runs all checks on a machine with a GPU that a change of capture must pass. Not a CTest test, because it needs a GPU.

hardware.py BUILD [driver|account|lookups|listener|torch|snapshot|python ...]      BUILD: a build of memprof with its tests

driver: the programs of this folder, through CUPTI, by the driver's names, and with MEMPROF_HOST=sample.
account, lookups, listener: test_account.py, test_lookups.py and test_listener.py.
torch: the peaks of a training run equal PyTorch's to the byte, with several settings.
snapshot: check_snapshot.py.
python: limits of GPU memory in tests of pytest are exact to the byte, for the driver's calls and for PyTorch (test_limits.py).

Exits with 1 if there is a difference."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
STEP = os.path.join(HERE, "../../bench/gpu/step.py")
# without `old_variants`, whose contexts of CUDA 2 and 3 cannot allocate with newer drivers, and `multicast`, which
# needs several devices
DEVICE_MEMORY = "allocations allocations_ptsz vmm graphs graphs_ptsz oom threads contexts fork hidden_memory trimmed pools".split()
LISTENERS = "early late two wrapped alone apart by_name missing".split()
LOOKUPS = "ways interposer chain report missing".split()
EXPANDABLE = {"PYTORCH_ALLOC_CONF": "expandable_segments:True", "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
SETTINGS = {    # environment variables of a run, and arguments of step.py
    "plain": ({}, []), "MEMPROF_HOST=sample": ({"MEMPROF_HOST": "sample"}, []), "MEMPROF_CUDA=interpose": ({"MEMPROF_CUDA": "interpose"}, []),
    "MEMPROF_STACKS=all": ({"MEMPROF_STACKS": "all"}, []), "expandable segments": (EXPANDABLE, []),
    "torch.profiler beside": ({}, ["--with", "profiler"])}


def environment(build):
    tests, preload = os.path.join(build, "tests/gpu"), os.path.join(build, "preload")
    return {"BUILD": build, "GPU_PROGRAMS": tests, "GPU_CHECK": os.path.join(tests, "gpu_check"), "MEMPROF_LIB": os.path.join(preload, "libmemprof.so"),
            "MEMPROF_COMPANION": os.path.join(preload, "libmemprof-cuda.so"), "MEMPROF_REPORT": os.path.join(build, "postproc/memprof-report"),
            "GPU_INTERPOSER": os.path.join(tests, "libgpu_interposer.so"),
            "GPU_INTERPOSER_BY_HANDLE": os.path.join(tests, "libgpu_interposer_by_handle.so"), "GPU_CHAIN": os.path.join(tests, "libgpu_chain_c.so"),
            "GPU_WRAPPER": os.path.join(tests, "libgpu_wrapper.so")}


def check(name, *words, **env):
    """Runs the command and returns whether it ended with 0, and its last line."""
    done = subprocess.run([sys.executable, "-B", *words], env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    output = done.stdout.strip()
    print(f"{'ok  ' if done.returncode == 0 else 'FAIL'} {name}: {output if done.returncode else output.splitlines()[-1] if output else ''}", flush=True)
    return done.returncode == 0


def driver(env):
    for program in DEVICE_MEMORY:
        yield check(f"{program}, by CUPTI", os.path.join(HERE, "test_capture.py"), program, **env)
        yield check(f"{program}, by name", os.path.join(HERE, "test_capture.py"), program, "by-name", **env)
        yield check(f"{program}, sample", os.path.join(HERE, "test_capture.py"), program, **env, MEMPROF_HOST="sample")


def account(env):
    for what in ("synchronized", "unseen", "refused"):
        yield check(f"account, {what}", os.path.join(HERE, "test_account.py"), what, **env)


def lookups(env):
    for what in LOOKUPS:
        yield check(f"look-ups, {what}", os.path.join(HERE, "test_lookups.py"), what, **env)


def listener(env):
    for what in LISTENERS:
        yield check(f"listener, {what}", os.path.join(HERE, "test_listener.py"), what, **env)


def torch_run(env, folder, setting, words):
    """Runs a training program and compares PyTorch's numbers with those of the log."""
    log = os.path.join(folder, "log.zst")
    preload = env["MEMPROF_LIB"] + (":" + env["MEMPROF_COMPANION"] if "MEMPROF_CUDA" in setting else "")
    done = subprocess.run([sys.executable, STEP, "compute", "--steps", "3", *words], stdout=subprocess.PIPE, check=True, text=True,
                          env={**os.environ, **setting, "LD_PRELOAD": preload, "MEMPROF_OUT": log, "MEMPROF_QUIET": "1"})
    pytorch = json.loads(done.stdout.splitlines()[-1])
    report = subprocess.run([env["MEMPROF_REPORT"], "peaks", "--format", "json", log], stdout=subprocess.PIPE, check=True)
    return (pytorch["allocated"], pytorch["reserved"]), json.loads(report.stdout)["logs"][0]


def torch(env):
    for name, (setting, words) in SETTINGS.items():
        with tempfile.TemporaryDirectory() as folder:
            pytorch, log = torch_run(env, folder, setting, words)
        peak = next(heap["peak_bytes"] for heap in log["heaps"] if heap["heap"] == "gpu0/torch")
        ours = peak, log["devices"][0]["torch_reserved_peak_bytes"]
        good = ours == pytorch and not log["lost_events"]
        print(f"{'ok  ' if good else 'FAIL'} torch, {name}: allocated, reserved {pytorch} and {ours}, "
              f"{log['lost_events']} of {log['events']} events lost", flush=True)
        yield good


def snapshot(env):
    yield check("snapshots", os.path.join(HERE, "check_snapshot.py"), os.path.dirname(os.path.dirname(env["MEMPROF_REPORT"])))


def python(env):
    tools = {"MEMPROF": os.path.join(env["BUILD"], "launcher/memprof"), "MEMPROF_SOURCE": os.path.join(HERE, "../..")}
    for what in ("driver", "torch"):
        yield check(f"limits, {what}", os.path.join(HERE, "test_limits.py"), what, **env, **tools)
    yield check("limits, torch, expandable segments", os.path.join(HERE, "test_limits.py"), "torch", **env, **tools, **EXPANDABLE)


def main(build, *parts):
    env = environment(os.path.abspath(build))
    results = [good for part in parts or ("driver", "account", "lookups", "listener", "torch", "snapshot", "python") for good in globals()[part](env)]
    print(f"{len(results)} checks, {results.count(False)} differ")
    sys.exit(not all(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
