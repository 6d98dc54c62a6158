"""PyTorch's allocations, ranges and Python stacks are recorded, with a stand-in for PyTorch and real interpreters."""
import collections
import glob
import json
import os
import shutil
import signal
import subprocess
import sys

import mp

SCRIPT = '''import ctypes, sys
report = ctypes.CDLL(None)._ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
report.argtypes = [ctypes.c_void_p, ctypes.c_long] + 3 * [ctypes.c_ulong]
BYTES, CUDA = 2 << 20, 1


class Naïve:
    def forward(self, place):
        x = [1,
             2]
        report(place, BYTES, BYTES, BYTES, CUDA)
        return x


def deep(depth, place):
    return deep(depth - 1, place) if depth else Naïve().forward(place)


def generator():
    yield deep(3, 0x7f0000000000)


next(generator())
try:
    raise ValueError
except ValueError:
    deep(200, 0x7f0000400000)
report(0x7f0000800000, 1, BYTES, BYTES, CUDA)         # small: hardly ever sampled
report(0x7f0000800000, -1, BYTES, BYTES, CUDA)
'''


def peaks(path, by, *options):
    out = subprocess.run([os.environ["MEMPROF_REPORT"], "peaks", "--by", by, *options, "--heap", "gpu0/torch", "--format", "json", path],
                         stdout=subprocess.PIPE, check=True).stdout
    return {tuple(r["path"]): r["bytes_at_peak"] for r in json.loads(out)["logs"][0]["heaps"][0]["ranges"]}


def record(argv, **env):
    place = mp.fresh()
    process = mp.start(argv, place, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       start_new_session=True)
    result = mp.finish(process, argv, place)
    path, = (os.path.join(place, name) for name in os.listdir(place) if name.endswith(".zst"))
    return path, result


def script(text):
    path = os.path.join(mp.fresh("script"), "script.py")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def interpreters():
    """Returns {path: (3, minor)} of every CPython of a known version on this machine."""
    names = ["python3", *(f"python3.{minor}" for minor in range(9, 15))]
    paths = [os.path.join(folder, name) for folder in os.environ["PATH"].split(":") for name in names]
    paths += glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3"))
    known = {}
    for path in filter(lambda p: os.access(p, os.X_OK), paths):
        done = subprocess.run([path, "-c", "import sys; print(sys.executable, *sys.version_info[:2])"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False, text=True)
        executable, _, version = done.stdout.strip().partition(" ")
        version = tuple(map(int, version.split()))
        if done.returncode == 0 and (3, 9) <= version <= (3, 14):
            known[os.path.realpath(executable)] = version
    if not known:
        raise mp.Skip("no CPython of 3.9 to 3.14")
    return known


def test_python_stacks_of_large_blocks_are_recorded():
    for python, version in interpreters().items():
        path, _ = record([python, "-X", "utf8", script(SCRIPT)])
        got = peaks(path, "python")
        method = "Naïve.forward" if version >= (3, 11) else "forward"     # before 3.11 code objects have no qualified name
        inner = (f"{method} (script.py:11)",)
        calls = ("deep (script.py:16)",)
        whole = ("<module> (script.py:23)", "generator (script.py:20)", *4 * calls, *inner)
        mp.equal(got.pop(whole, None), 2 << 20, f"{python}: bytes of {whole} in {got}")
        deep, = (p for p in got if len(p) == 1 + 64)                  # the mark, and the innermost 64 frames
        mp.equal((deep[-1], deep[1], deep[0], got.pop(deep)), (inner[0], calls[0], "(stack cut: depth limit)", 2 << 20), f"{python}: the deep stack")
        mp.equal(got, {(): 1}, f"{python}: the rest")


# Allocates one block in each situation. A comment "# NAME" at the end of a line names the line.
SITUATIONS = '''import asyncio, ctypes, itertools, os, sys, threading
report = ctypes.CDLL(None)._ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
report.argtypes = [ctypes.c_void_p, ctypes.c_long] + 3 * [ctypes.c_ulong]
BYTES, CUDA = 2 << 20, 1
places = itertools.count(0x7f0000000000, BYTES)


def block(_=None):
    report(next(places), BYTES, BYTES, BYTES, CUDA)  # block


def numbers():
    try:
        block((yield))  # yield
    finally:
        block()  # finally


def resume(g):
    next(g, None)  # resume


def outer():
    def inner():
        return (lambda: block())()  # lambda
    return inner()  # inner


def catch():
    try:
        fail(5)
    except ValueError:
        block()  # except


def fail(depth):
    if depth:
        fail(depth - 1)
    raise ValueError


def far(a):
    x = (LONG)
HOLE
    block(x)  # far
    return (block(  # spread
        a
    ), a)


async def leaf():
    await asyncio.sleep(0)
    block()  # leaf


async def task():
    await leaf()  # task


def recurse(depth):
    if depth:
        return recurse(depth - 1)  # deeper
    block()  # bottom


def worker(barrier):
    barrier.wait()
    block()  # worker
    barrier.wait()


def run(*threads):
    for t in threads:
        t.start()
    for t in threads:
        t.join()


g, other = numbers(), numbers()
next(g)
next(other)
resume(g)  # resumes
other.close()  # closes
outer()  # calls
catch()  # catches
far(1)  # goes
asyncio.run(task())  # runs
sys.setrecursionlimit(20000)
threading.stack_size(256 << 20)
run(threading.Thread(target=recurse, args=(10000,)))
threading.stack_size(0)
barrier = threading.Barrier(3)
run(*(threading.Thread(target=worker, args=(barrier,)) for _ in range(3)))
if os.fork() == 0:
    outer()  # forked
    sys.exit()
os.wait()
'''


def situations():
    # distant lines, and much code in one line, take several entries in a line table
    text = SITUATIONS.replace("HOLE\n", "\n" * 400).replace("LONG", ", ".join(300 * ["a"]))
    lines = {line.rpartition("  # ")[2]: n for n, line in enumerate(text.splitlines(), 1) if "  # " in line}
    return script(text), lines


def stacks_of(log):
    # {the frames of the script, with spaces between: MiB}
    got = collections.Counter()
    for frames, size in peaks(log.path, "python").items():
        got[" ".join(f for f in frames if "(script.py:" in f)] += size >> 20
    return dict(got)


def test_python_stacks_are_exact_in_generators_coroutines_and_threads():
    path, lines = situations()
    for python, version in interpreters().items():
        def stack(frames):
            # "function@line ..."; before 3.11 without the enclosing class or function
            places = [f.split("@") for f in frames.split()]
            return " ".join(f"{name if version >= (3, 11) else name.rpartition('.')[2]} (script.py:{lines[line]})" for name, line in places)

        done = mp.run([python, "-X", "utf8", path], env={"PYTHONWARNINGS": "ignore"})
        child, parent = sorted(done.logs.all(), key=lambda log: len(stacks_of(log)))
        nested = "outer@inner outer.<locals>.inner@lambda outer.<locals>.inner.<locals>.<lambda>@lambda block@block"
        mp.equal(stacks_of(child), {stack(f"<module>@forked {nested}"): 2}, f"{python}: in a child")
        mp.equal(stacks_of(parent), {stack(frames): mib for frames, mib in {
            "<module>@resumes resume@resume numbers@yield block@block": 2,
            "<module>@resumes resume@resume numbers@finally block@block": 2,
            "<module>@closes numbers@finally block@block": 2,
            f"<module>@calls {nested}": 2,
            "<module>@catches catch@except block@block": 2,
            "<module>@goes far@far block@block": 2,
            "<module>@goes far@spread block@block": 2,
            "<module>@runs task@task leaf@leaf block@block": 2,
            62 * "recurse@deeper " + "recurse@bottom block@block": 2,
            "worker@worker block@block": 6,
        }.items()}, python)


MODULES = '''import ctypes, sys
report = ctypes.CDLL(None)._ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
report.argtypes = [ctypes.c_void_p, ctypes.c_long] + 3 * [ctypes.c_ulong]
BYTES, CUDA = 2 << 20, 1
place = 0x7f0000000000


class Module:                                       # as torch.nn.Module keeps and calls its children
    __module__ = "torch.nn.modules.module"

    def __init__(self):
        for name in ("training", "_parameters", "_buffers", "_hooks", "_modules"):
            object.__setattr__(self, name, {})

    def __setattr__(self, name, value):
        if isinstance(value, Module):
            self.__dict__["_modules"][name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name):
        return self.__dict__["_modules"][name]

    def __call__(self, x):
        return self.forward(x)


class List(Module):
    def __init__(self, *modules):
        super().__init__()
        for i, m in enumerate(modules):
            setattr(self, str(i), m)


class Linear(Module):
    def forward(self, x):
        global place
        place += BYTES
        report(place, BYTES, BYTES, BYTES, CUDA)


class Own(Linear):
    __slots__ = ()


class Block(Module):
    def __init__(self):
        super().__init__()
        self.deep = Own()

    def forward(self, x):
        self.deep(x)


class Plain:
    def forward(self, x):
        Linear()(x)


class Net(Module):
    def __init__(self):
        super().__init__()
        self.first = Linear()
        self.h = List(*(Block() for _ in range(3)))
        self.plain = Plain()

    def forward(self, x):
        self.first(x)
        self.h._modules["2"](x)
        self.plain.forward(x)


for _ in range(2):
    keep = Net(), Net()                             # other modules at each turn
    for net in keep:
        net(1)
Block()(1)
'''


def test_pytorch_modules_have_class_and_path_in_stacks():
    for python, version in interpreters().items():
        path, _ = record([python, "-X", "utf8", script(MODULES)])
        net, linear = ("Net.__call__ (script.py:25)", "Net.forward (script.py:%d)"), "Linear.%s%s (script.py:%d)"
        outer = "<module> (script.py:%d)"
        first = (outer % 76, net[0], net[1] % 68, linear % ("__call__", " [first]", 25), linear % ("forward", " [first]", 39))
        block = (outer % 76, net[0], net[1] % 69, "Block.__call__ [h.2] (script.py:25)", "Block.forward [h.2] (script.py:52)",
                 "Own.__call__ [h.2.deep] (script.py:25)", "Own.forward [h.2.deep] (script.py:39)")
        plain = (outer % 76, net[0], net[1] % 70, f"{'Plain.' if version >= (3, 11) else ''}forward (script.py:57)",
                 linear % ("__call__", "", 25), linear % ("forward", "", 39))
        alone = (outer % 77, "Block.__call__ (script.py:25)", "Block.forward (script.py:52)", "Own.__call__ [deep] (script.py:25)",
                 "Own.forward [deep] (script.py:39)")
        mp.equal(peaks(path, "python"), {first: 8 << 20, block: 8 << 20, plain: 8 << 20, alone: 2 << 20}, python)


MANY = MODULES.partition("class Block")[0] + '''

for m in [Own() for _ in range(40000)]:
    m(1)
'''


def test_pytorch_modules_beyond_the_limit_have_their_base_class():
    path, _ = record([sys.executable, "-X", "utf8", script(MANY)])
    got = {frames[-1].partition(" ")[0]: size for frames, size in peaks(path, "python").items()}
    mp.equal(sorted(got), ["Linear.forward", "Own.forward"], "the module's class, then the function's name")
    mp.check(got["Own.forward"] > 32000 * (2 << 20), got)
    mp.equal(sum(got.values()), 40000 * (2 << 20), got)


SMALL = '''import ctypes
report = ctypes.CDLL(None)._ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
report.argtypes = [ctypes.c_void_p, ctypes.c_long] + 3 * [ctypes.c_ulong]
for i in range(20000):
    if i % 4:
        report(0x7f0000000000 + (i << 16), 1 << 16, 0, 1 << 40, 1)
    else:
        report(0x7f0000000000 + (i << 16), 1 << 16, 0, 1 << 40, 1)
'''


def test_small_pytorch_blocks_are_estimated_by_sampling():
    """15,000 and 5,000 blocks of 64 KiB: some 1760 and 590 samples, so six standard deviations are 14 % and 24 %."""
    path, _ = record([sys.executable, script(SMALL)])
    got = peaks(path, "python")
    for line, blocks, within in (6, 15000, 0.14), (8, 5000, 0.24):
        mp.check(abs(got[(f"<module> (script.py:{line})",)] / (blocks << 16) - 1) < within, got)
    exact = peaks(path, "auto")
    mp.equal(sum(exact.values()), 20000 << 16, "bytes, none of them estimated")
    mp.check(exact[()] > sum(exact.values()) / 2, exact)
    path, _ = record([sys.executable, script(SMALL)], MEMPROF_STACKS="off")
    mp.equal(peaks(path, "python"), {(): 20000 << 16}, "without samples")


def test_first_small_pytorch_block_of_a_thread_can_be_a_sample():
    path, _ = record([sys.executable, script(SMALL.split("for ")[0] + "report(0x7f0000000000, 65536, 65536, 65536, 1)\n")],
                     MEMPROF_STACKS="sample:1")
    (line,), size = peaks(path, "python").popitem()
    mp.check(line.startswith("<module> (script.py:") and size == 65536, f"{size} B in {line}")


HOST_AFTER_CUDA = SMALL.split("for ")[0] + '''
report(0x7f0000000000, 65536, 65536, 65536, 1)
kept = [bytes(16 << 10) for _ in range(20000)]
'''


def test_small_host_blocks_are_not_sampled_by_default_after_pytorch_uses_a_gpu():
    def samples(**env):
        path, _ = record([sys.executable, script(HOST_AFTER_CUDA)], **env)
        out = subprocess.run([os.environ["MEMPROF_REPORT"], "peaks", "--by", "python", "--heap", "host/heap", "--format", "json", path],
                             stdout=subprocess.PIPE, check=True).stdout
        return json.loads(out)["logs"][0]["heaps"][0].get("estimated_from_samples", 0)

    mp.check(samples() < 100 < samples(MEMPROF_STACKS="sample"), "samples of 20,000 blocks of 16 KiB: some 616 with stacks=sample")


KEPT = '''import os, signal
kept = []
def keep(): kept.append(bytes(16 << 10))
for i in range(20000): keep()
os.kill(os.getpid(), signal.SIGKILL)
'''


def test_small_host_blocks_are_estimated_by_python_line():
    """20,000 blocks of 16 KiB: some 616 samples, so six standard deviations are 25 %."""
    path, = mp.run([sys.executable, script(KEPT)], env={"MEMPROF_STACKS": "sample"}, status=-signal.SIGKILL).logs.paths()

    def report(command, *options):
        return json.loads(subprocess.run([os.environ["MEMPROF_REPORT"], command, *options, "--format", "json", path],
                                         stdout=subprocess.PIPE, check=True).stdout)["logs"][0]

    def near(row, key):
        mp.check(row["estimated"] and abs(row[key] / (20000 << 14) - 1) < 0.25, row)

    def keeps(rows):
        row, = (row for row in rows if row["path"] and row["path"][-1] == "keep (script.py:3)")
        return row

    heap, = report("peaks", "--heap", "host/heap")["heaps"]
    near(keeps(heap["ranges"]), "bytes_at_peak")
    mp.equal(sum(row["bytes_at_peak"] for row in heap["ranges"]), heap["peak_bytes"], "bytes of all lines")
    grown = report("oom")["host"]["growth"]
    near(keeps(grown["changes"]), "after_bytes")
    mp.equal(sum(row["after_bytes"] - row["before_bytes"] for row in grown["changes"]), grown["after_bytes"] - grown["before_bytes"],
             "what grew in all")


def test_python_stacks_can_be_turned_off():
    path, result = record([sys.executable, "-X", "utf8", script(SCRIPT)], MEMPROF_PYTHON="0")
    mp.equal(list(peaks(path, "python")), [()], "paths")
    mp.check(b"Python" not in result.err, result.err)


def test_unknown_python_is_warned_about_once():
    path, result = record([mp.victim("unknown_python")])
    mp.equal(peaks(path, "python"), {(): 4 << 20}, "paths")
    mp.equal(result.err.count(b"Python call stacks are not recorded"), 1, result.err)


TORCH = '''import ctypes, sys, threading
torch = ctypes.CDLL(sys.argv[1])
report = ctypes.CDLL(None)._ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
report.argtypes = [ctypes.c_void_p, ctypes.c_long] + 3 * [ctypes.c_ulong]
torch.torch_enter.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_long, ctypes.c_ulong, ctypes.c_char_p]


def enter(name, scope, number=-1, thread=0, layout=b"new map"):
    torch.torch_enter(name, scope, number, thread, layout)
'''

RANGES = TORCH + '''
report(0x7f0000000000, 512, 512, 1024, 1)
enter(b"Optimizer.step#AdamW.step", 7)
enter(b"aten::add", 0)
report(0x7f0000001000, 1024, 1536, 2048, 1)
torch.torch_leave(0)
enter(b"AddmmBackward0", 1)
report(0x7f0000002000, 2048, 3584, 4096, 1)
torch.torch_leave(1)
torch.torch_leave(7)
'''


def package(version):
    """Creates a folder torch/ with version.py and lib/libtorch_cpu.so, and returns the library."""
    place = os.path.join(mp.fresh("site"), "torch")
    os.makedirs(os.path.join(place, "lib"))
    with open(os.path.join(place, "version.py"), "w", encoding="ascii") as f:
        f.write(f"from typing import Optional\n__version__ = '{version}+cu130'\n")
    return shutil.copy(mp.victim("libtorch_ranges.so"), os.path.join(place, "lib", "libtorch_cpu.so"))


def test_pytorch_ranges_are_recorded():
    step, add = "torch:Optimizer.step#AdamW.step", "torch:aten::add"
    for level, expected in ((None, {(): 512, (step,): 1024, (step, "torch:AddmmBackward0"): 2048}),
                            ("ops", {(): 512, (step, add): 1024, (step, "torch:AddmmBackward0"): 2048}),
                            ("off", {(): 3584})):
        path, result = record([sys.executable, script(RANGES), package("2.11.0")], MEMPROF_TORCH_RANGES=level)
        mp.equal(peaks(path, "range"), expected, f"ranges with {level}")
        mp.check(b"ranges" not in result.err, result.err)


def test_unknown_pytorch_is_warned_about_once():
    path, result = record([sys.executable, script(RANGES), package("9.0.0")])
    mp.equal(peaks(path, "range"), {(): 3584}, "ranges")
    mp.equal(result.err.count(b"PyTorch's own ranges are not recorded"), 1, result.err)


NODES = TORCH + """
layout = sys.argv[2].encode()


# blocks of one byte, so that none of them is in the sample of small blocks that have a stack of their own
def backward():                                     # of PyTorch's thread 1; the last is a node that no operator made
    for place, (number, name) in enumerate(((0, b"AddmmBackward0"), (1, b"MseLossBackward0"), (2, b"MulBackward0"),
                                            (3, b"AddBackward0"), (-1, b"AccumulateGrad"))):
        enter(name, 1, number, 1, layout)
        report(0x7f0010000000 + (place << 24), 1, 0, 1 << 30, 1)
        torch.torch_leave(1)


report(0x7f0000000000, 512, 0, 1 << 30, 1)
for number, name in enumerate((b"forward", b"loss")):
    enter(name, 7)
    torch.torch_next(number + 1)
    report(0x7f0001000000 + (number << 24), 4 << 20, 0, 1 << 30, 1)
    torch.torch_leave(7)
enter(b"again", 7)                                  # makes 2 outside and 3 inside of a range of NVTX, without large blocks
torch.torch_next(3)
torch.torch_push(b"inner")
torch.torch_next(4)
torch.torch_pop()
torch.torch_leave(7)
thread = threading.Thread(target=backward)
thread.start()
thread.join()
"""


def counts(path):
    out = subprocess.run([os.environ["MEMPROF_REPORT"], "log", "info", "--format", "json", path], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(out)["counts"]


def test_autograd_sequence_numbers_are_read_in_every_layout():
    for layout in ("new map", "new", "old map", "old"):
        path, result = record([sys.executable, script(NODES), package("2.11.0"), layout])
        got = counts(path)
        mp.equal((got.get("TORCH_NODE"), got.get("TORCH_NEXT")), (4, 6), f"{layout}: nodes run, and numbers: 0 to 4, and the other thread's 0")
        mp.check(b"autograd" not in result.err, result.err)
        mp.equal(peaks(path, "range", "--backward-of"), {
            (): 512, ("torch:forward",): 4 << 20, ("torch:loss",): 4 << 20, ("torch:AccumulateGrad",): 1,
            ("backward of torch:forward", "torch:AddmmBackward0"): 1, ("backward of torch:loss", "torch:MseLossBackward0"): 1,
            ("backward of torch:again", "torch:MulBackward0"): 1, ("backward of torch:again", "inner", "torch:AddBackward0"): 1,
        }, f"{layout}: by range")
        stack, = [frames for frames, size in peaks(path, "python").items() if size == 8 << 20]
        mp.equal(peaks(path, "python", "--backward-of").get((f"backward of {stack[0]}", *stack[1:])), 2, f"{layout}: by Python stack")


def test_unknown_autograd_layout_is_warned_about_once():
    path, result = record([sys.executable, script(NODES), package("2.11.0"), "strange new map"])
    mp.equal(counts(path).get("TORCH_NODE"), None, "nodes")
    mp.equal(result.err.count(b"autograd"), 1, result.err)
    mp.check(("torch:AddmmBackward0",) in peaks(path, "range"), "ranges are recorded all the same")


if __name__ == "__main__":
    mp.main()
