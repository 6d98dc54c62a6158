"""PyTorch's libraries are recognised in every folder and under every name, with the calls of newer versions."""
import os
import shutil
import sys

import mp
from test_torch import RANGES, counts, package, peaks, record, script

STEP = "torch:Optimizer.step#AdamW.step"
EXPECTED = {(): 512, (STEP,): 1024, (STEP, "torch:AddmmBackward0"): 2048}


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def ranges(library, first=""):
    path, result = record([sys.executable, script(first + RANGES), library])
    mp.check(b"ranges" not in result.err, result.err)
    mp.equal(peaks(path, "range"), EXPECTED, "ranges")


def test_pytorch_of_a_linux_distribution_is_found():
    """The library's file name ends in a version, and the library is in a common folder. The package is a folder of
    Python's."""
    place = mp.fresh("distribution")
    library = shutil.copy(mp.victim("libtorch_versioned.so"), os.path.join(mp.fresh("lib"), "libtorch_cpu.so.2.14.1"))
    write(os.path.join(place, "torch", "version.py"), "__version__ = '2.14.1+debian'\n")
    stub = shutil.copy(mp.victim("libalpha.so"), os.path.join(place, "torch", "_C.cpython-314-x86_64-linux-gnu.so"))
    ranges(library, f"import ctypes\nctypes.CDLL({stub!r})\n")


def test_libtorch_without_python_is_found():
    """The archive of LibTorch has a folder lib/, and next to it a file with only the version."""
    place = mp.fresh("libtorch")
    os.makedirs(os.path.join(place, "lib"))
    write(os.path.join(place, "build-version"), "2.9.1+cpu\n")
    ranges(shutil.copy(mp.victim("libtorch_ranges.so"), os.path.join(place, "lib", "libtorch_cpu.so")))


C10 = '''import ctypes, sys
hooks = ctypes.CDLL(None)
c10 = ctypes.CDLL(sys.argv[2])
torch = ctypes.CDLL(sys.argv[1])
torch.torch_enter.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_long, ctypes.c_ulong, ctypes.c_char_p]
hooks._ZN3c1022memoryProfilingEnabledEv.restype = ctypes.c_bool
report = hooks._ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
report.argtypes = [ctypes.c_void_p, ctypes.c_long] + 3 * [ctypes.c_ulong]
assert hooks._ZN3c1022memoryProfilingEnabledEv()
torch.torch_enter(b"step", 7, -1, 0, b"new")
block = bytearray(8 << 20)
torch.torch_leave(7)
report(0x7f0000000000, 512, 512, 1024, 1)
print(c10.asked(), c10.reported())
'''


def test_pytorch_without_cuda_has_ranges_and_receives_its_calls():
    """Without CUDA, the query whether a profiler is active is the first sign of PyTorch. Every call is passed on to
    PyTorch's function."""
    c10 = shutil.copy(mp.victim("libtorch_c10.so"), os.path.join(mp.fresh("lib"), "libc10.so.2.14"))
    path, result = record([sys.executable, script(C10), package("2.14.0"), c10])
    mp.equal(result.out, b"1 1\n", "calls that came to PyTorch's own functions")
    step = mp.Log(path).ranges()["torch:step"]
    mp.check(step["own_peak_bytes"] >= 8 << 20, f"the block of the step: {step}")


GRAPHS = '''import ctypes, sys
hooks = ctypes.CDLL(None)
parts = ctypes.CDLL(sys.argv[1])
name = "_ZN2at4cuda9CUDAGraph%s"
report = hooks._ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
report.argtypes = [ctypes.c_void_p, ctypes.c_long] + 3 * [ctypes.c_ulong]
report(0x7f0000000000, 512, 512, 1024, 1)
for end in sys.argv[2:]:
    graph = (ctypes.c_uint64 * 3)()
    getattr(hooks, name % "13capture_beginESt4pairIyyE21cudaStreamCaptureMode")(graph, ctypes.c_uint64(7), ctypes.c_uint64(8), 1)
    getattr(hooks, name % end)(graph)
    getattr(hooks, name % "5resetEv")(graph)
    print(*graph)
'''


def test_graph_capture_ends_once_in_every_pytorch_version():
    whole, part = "11capture_endEv", "15capture_end_preEv"
    for library, ends in (("graphs", (whole, whole)), ("graph_parts", (whole, part))):
        path, result = record([sys.executable, script(GRAPHS), mp.victim(f"libtorch_{library}.so"), *ends])
        mp.equal(result.out, b"7 9 111\n7 9 111\n", f"{library}: the graph's own functions")
        got = counts(path)
        mp.equal([got.get(f"TORCH_{kind}") for kind in ("CAPTURE", "CAPTURE_END", "GRAPH_RESET")], [2, 2, 2], library)


if __name__ == "__main__":
    mp.main()
