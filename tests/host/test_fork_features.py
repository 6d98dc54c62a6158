"""A process that forks while every feature is in use gets a complete child log that has nothing of its parent.

The kernel clears data in a child that belongs to one process. The tests also run with that call refused, as by Linux before
4.14."""
import ctypes
import json
import os
import shutil
import struct
import subprocess
import sys

import mp

BLOCKS_BYTES, TORCH_BYTES = 100 * 1000, 2 << 20     # kept in each range, and in each of PyTorch's ranges

# Threads record with open ranges, Python and PyTorch have stacks and ranges, and the encoder runs. CUDA also runs if a
# stand-in is there. Both processes do the same work at the same places.
SCRIPT = '''import ctypes, itertools, os, sys, threading
torch, features, cuda = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(sys.argv[2]), ctypes.CDLL(sys.argv[3]) if sys.argv[3] else None
report = ctypes.CDLL(None)._ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
report.argtypes = [ctypes.c_void_p, ctypes.c_long] + 3 * [ctypes.c_ulong]
torch.torch_enter.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_long, ctypes.c_ulong, ctypes.c_char_p]
BYTES, NOT_INITIALIZED = 2 << 20, 3
places, pointer = itertools.count(0x7f0000000000, BYTES), ctypes.c_void_p()


def use_cuda():
    context, stream, address = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    results = [cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), cuda.cuCtxSetCurrent(context),
               cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(5 << 20)), cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)]
    assert results == [0] * 5, results


def other(ready, stop):
    features.features_push(b"of another thread")
    ready.set()
    while not stop.is_set():
        bytearray(3000)


def encoder_runs():
    return any(open(f"/proc/self/task/{t}/comm").read() == "memprof\\n" for t in os.listdir("/proc/self/task"))


def work():
    torch.torch_enter(b"step", 7, -1, 0, b"new map")
    report(next(places), BYTES, BYTES, BYTES, 1)
    torch.torch_leave(7)
    features.features_keep()
    features.features_keep_in_domain()
    features.features_payload()


features.features_start()
report(next(places), 1, 1, 1, 1)        # PyTorch's ranges are recorded from then on
if cuda:
    use_cuda()
ready, stop = threading.Event(), threading.Event()
thread = threading.Thread(target=other, args=(ready, stop))
thread.start()
ready.wait()
features.features_push(b"of the parent")
while not encoder_runs():
    bytearray(8 << 20)
pid = None
for turn in range(2):
    if turn:
        pid = os.fork()
    work()
features.features_pop()
if pid:
    stop.set()
    thread.join()
    assert os.waitpid(pid, 0)[1] == 0
elif cuda:
    assert cuda.cuCtxCreate_v2(ctypes.byref(pointer), 0, 0) == NOT_INITIALIZED
os._exit(0)
'''


def refuse_wiping():
    """For preexec_fn: madvise(MADV_WIPEONFORK) fails from now on for every caller."""
    load, jump_if, give = 0x20, 0x15, 0x06
    madvise, wipe_on_fork, third_argument = 28, 18, 32
    allow, error = 0x7fff0000, 0x00050000 | 22
    code = [(load, 0, 0, 0), (jump_if, 0, 3, madvise), (load, 0, 0, third_argument), (jump_if, 0, 1, wipe_on_fork), (give, 0, 0, error),
            (give, 0, 0, allow)]
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *c) for c in code))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(text)))
    no_new_privileges, seccomp, filter_mode = 38, 22, 2
    prctl = ctypes.CDLL(None).prctl
    if prctl(no_new_privileges, 1, 0, 0, 0) or prctl(seccomp, filter_mode, program):
        os._exit(99)


def family(**popen):
    """Returns the logs of the script and of its child."""
    site = os.path.join(mp.fresh("site"), "torch")
    os.makedirs(os.path.join(site, "lib"))
    with open(os.path.join(site, "version.py"), "w", encoding="ascii") as f:
        f.write("__version__ = '2.11.0+cu130'\n")
    torch = shutil.copy(mp.victim("libtorch_ranges.so"), os.path.join(site, "lib", "libtorch_cpu.so"))
    fake = os.environ.get("FAKE_CUDA_DIR")
    env = {"LD_LIBRARY_PATH": fake, "MEMPROF_CUPTI": f"{fake}/libcupti.so.13"} if fake else {}
    script = os.path.join(site, "script.py")
    with open(script, "w", encoding="ascii") as f:
        f.write(SCRIPT)
    quiet = ("-W", "ignore::DeprecationWarning")    # 3.12 warns of fork in a process with threads
    result = mp.run([sys.executable, *quiet, script, torch, mp.victim("libfork_features.so"), "libcuda.so.1" if fake else ""],
                    env={"MEMPROF_STACKS": "all", "MEMPROF_QUIET": "1", **env}, **popen)
    mp.equal((result.out, result.err), (b"", b""), "output")
    logs = result.logs.all()
    mp.equal(len(logs), 2, "logs")
    return sorted((log.at_end() for log in logs), key=lambda log: log.process["parent_log"] is not None)


def report(log, *command):
    done = subprocess.run([os.environ["MEMPROF_REPORT"], *command, "--format", "json", log.path], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def by_python(log):
    heap, = report(log, "peaks", "--by", "python", "--heap", "gpu0/torch")["logs"][0]["heaps"]
    return {tuple(r["path"]): r["bytes_at_peak"] for r in heap["ranges"]}


def has_stacks(log, works):
    """Checks that each block has its stack of named functions."""
    heap, = report(log, "peaks", "--by", "stack", "--heap", "host/heap", "--at", "1000000s")["logs"][0]["heaps"]
    for name in "features_keep", "features_keep_in_domain":
        got = sum(r["bytes_at_peak"] for r in heap["ranges"] if any(frame.split(" ")[0] == name for frame in r["path"]))
        mp.equal(got, works * BLOCKS_BYTES, f"{log.path}: bytes below {name}")


def has_ranges(log, works, others):
    expected = {"range": works * BLOCKS_BYTES, "library:step": works * BLOCKS_BYTES}
    ranges = {path: r["bytes_at_peak"] for path, r in log.ranges().items() if path}
    mp.equal({path: ranges.get(others + path) for path in expected}, expected, f"{log.path}: ranges")
    mp.equal([path for path in ranges if not others and path not in expected], [], f"{log.path}: its parent's ranges")
    torch = {path: r["bytes_at_peak"] for path, r in log.ranges("gpu0/torch").items() if path}
    mp.equal(torch, {others + "torch:step": works * TORCH_BYTES}, f"{log.path}: PyTorch's ranges")


def has_python(log, works):
    got = {tuple(frame.split(" ")[0] for frame in path): size for path, size in by_python(log).items() if size > 1}
    mp.equal(got, {("<module>", "work"): works * TORCH_BYTES}, f"{log.path}: Python stacks")


def stands_alone(parent, child):
    mp.equal(child.process["parent_log"], parent.path, "the log of the parent")
    for log in parent, child:
        mp.whole(log)


def has_cuda(log):
    """Checks that the log has the device of the call that the driver refused. Only the parent has a sampler."""
    counts = report(log, "log", "info")["counts"]
    mp.equal([counts.get(op, 0) for op in ("GPU_DEVICE", "GPU_ENTER", "SAMPLE_GPU")], [1, 1, 0], f"{log.path}: events of CUDA")
    mp.equal([d["name"] for d in log.json["devices"]], ["Stand-in GPU"], f"{log.path}: devices")


def features_of_a_child(**popen):
    parent, child = family(**popen)
    stands_alone(parent, child)
    for log, works, others in (parent, 2, "of the parent > "), (child, 1, ""):
        has_ranges(log, works, others)
        has_stacks(log, works)
        has_python(log, works)
        mp.equal(report(log, "log", "info")["counts"].get("SCHEMA"), 1, f"{log.path}: descriptions of payloads")
        mp.check(report(log, "log", "info")["counts"].get("SAMPLE_RSS"), f"{log.path}: samples")
    if os.environ.get("FAKE_CUDA_DIR"):
        has_cuda(child)


def test_forked_child_has_an_independent_log_with_every_feature_on():
    features_of_a_child()


def test_forked_child_has_an_independent_log_without_wipeonfork():
    features_of_a_child(preexec_fn=refuse_wiping)


if __name__ == "__main__":
    mp.main()
