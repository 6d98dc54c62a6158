"""Limits of GPU memory in tests of pytest are exact to the byte.

usage: test_limits.py [driver|torch]        driver (default): memory of the driver's calls; torch: PyTorch's, compared with its own counters

Environment: MEMPROF, MEMPROF_LIB, MEMPROF_REPORT, MEMPROF_SOURCE, and FAKE_CUDA_DIR for the stand-ins. Without FAKE_CUDA_DIR the
machine's driver and CUPTI are used. Ends with 77 if no interpreter has pytest."""
import os
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
TIMEOUT = 300       # seconds; only a hang takes longer
MIB = 1 << 20

DRIVER = """
import ctypes
import pytest
import memprof_report

MIB = 1 << 20
ALLOWED = 9 * MIB + 3       # peak of `allocate`
cuda = ctypes.CDLL("libcuda.so.1")
leaked = []


def call(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    assert result == 0, f"{name} returned {result}"


def memory(size):
    block = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(block), ctypes.c_size_t(size))
    return block


@pytest.fixture(scope="module", autouse=True)
def context():
    device, context = ctypes.c_int(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    leaked.append(memory(64 * MIB))     # before every test


def allocate():
    first, second = memory(4 * MIB + 1), memory(5 * MIB + 2)
    call("cuMemFree_v2", first)
    third = memory(2 * MIB)
    call("cuMemFree_v2", second)
    call("cuMemFree_v2", third)


@pytest.mark.limit_memory(gpu=ALLOWED)
def test_at_its_limit():
    allocate()


@pytest.mark.limit_memory(gpu=ALLOWED - 1)
def test_one_byte_above():
    allocate()


@pytest.mark.limit_memory("1 GB", gpu=ALLOWED - 1)
def test_host_has_another_limit():
    allocate()


@pytest.mark.limit_leaks(gpu=3 * MIB)
def test_keeps_its_limit():
    leaked.append(memory(3 * MIB))


@pytest.mark.limit_leaks(gpu=3 * MIB - 1)
def test_keeps_one_byte_more():
    leaked.append(memory(3 * MIB))


@pytest.mark.limit_leaks(gpu=0)
def test_frees_all():
    allocate()


def test_measurement():
    with memprof_report.measure() as measured:
        allocate()
        leaked.append(memory(7))
    assert (measured.peak_bytes["gpu0/device"], measured.live_bytes["gpu0/device"]) == (ALLOWED, 7)
"""
EXPECTED = {    # heading of each failure
    "test_one_byte_above": "test_one_byte_above allocated up to 9.00 MiB of gpu0/device (9,437,187 bytes), 1 B more than its limit_memory of 9437186 bytes",
    "test_host_has_another_limit": "test_host_has_another_limit allocated up to 9.00 MiB of gpu0/device (9,437,187 bytes), 1 B more than its limit_memory of 9437186 bytes",
    "test_keeps_one_byte_more": "test_keeps_one_byte_more did not free 3.00 MiB of gpu0/device (3,145,728 bytes), 1 B more than its limit_leaks of 3145727 bytes",
}
TORCH = """
import pytest
import torch
import memprof_report

MIB = 1 << 20
kept = [torch.ones(1 << 20, device="cuda")]     # before every test


def train():
    layers = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)]).cuda()
    layers(torch.randn(300, 512, device="cuda")).sum().backward()


def test_peak_is_that_of_pytorch():
    train()     # what libraries keep
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    with memprof_report.measure() as measured:
        train()
        kept.append(torch.empty(12345, device="cuda"))
        after = torch.cuda.memory_allocated()
    peak = torch.cuda.max_memory_allocated()
    assert (measured.peak_bytes["gpu0/torch"], measured.live_bytes["gpu0/torch"]) == (peak - before, after - before)
    print(f"peak of {measured.peak_bytes['gpu0/torch']:,} bytes")


@pytest.mark.limit_memory(gpu=64 * MIB)
def test_at_its_limit():
    torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")


@pytest.mark.limit_memory(gpu=64 * MIB - 1)
def test_one_byte_above():
    torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")


@pytest.mark.limit_leaks(gpu=8 * MIB - 1)
def test_keeps_one_byte_more():
    torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")     # the segment stays with PyTorch
    kept.append(torch.empty(8 * MIB, dtype=torch.uint8, device="cuda"))
"""
EXPECTED_TORCH = {
    "test_one_byte_above": "test_one_byte_above allocated up to 64.00 MiB of gpu0/torch (67,108,864 bytes), 1 B more than its limit_memory of 67108863 bytes",
    "test_keeps_one_byte_more": "test_keeps_one_byte_more did not free 8.00 MiB of gpu0/torch (8,388,608 bytes), 1 B more than its limit_leaks of 8388607 bytes",
}


def interpreter(*modules):
    """Returns an interpreter that has these modules, or None."""
    for python in (sys.executable, "python3", "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import " + ", ".join(modules)], capture_output=True, check=False).returncode == 0:
            return python
    return None


def environment():
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [os.path.join(os.environ["MEMPROF_SOURCE"], "python"), env.get("PYTHONPATH")]))
    fake = env.get("FAKE_CUDA_DIR")
    return {**env, "LD_LIBRARY_PATH": fake, "MEMPROF_CUPTI": f"{fake}/libcupti.so.13"} if fake else env


def failures_of(out):
    """Returns {test: its heading} of the failures that pytest printed."""
    found = re.split(r"^_+ (?:ERROR at teardown of )?(\w+) _+$", out, flags=re.MULTILINE)
    return {name: text.strip().splitlines()[0] for name, text in zip(found[1::2], found[2::2])}


def main(kind="driver"):
    suite, expected = {"driver": (DRIVER, EXPECTED), "torch": (TORCH, EXPECTED_TORCH)}[kind]
    python = interpreter("pytest", *(["torch"] if kind == "torch" else []))
    if not python:
        print("no interpreter has pytest" + (" and torch" if kind == "torch" else ""))
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "test_gpu.py"), "w", encoding="utf-8") as file:
            file.write(suite)
        done = subprocess.run([python, "-B", "-m", "pytest", "-q", "-rP", "-p", "memprof_report.pytest_plugin", "-p", "no:cacheprovider", "--memprof"], cwd=folder,
                              env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT, check=False)
    found = failures_of(done.stdout.split("short test summary")[0].split("= PASSES")[0])
    if done.returncode != 1 or found != expected:
        sys.exit(f"{done.stdout}\nstatus {done.returncode}, failures {found}, expected {expected}")
    peaks = re.findall(r"peak of [0-9,]+ bytes", done.stdout)
    print("; ".join([f"{len(expected)} tests exceed their limits by 1 byte and fail, the others pass", *peaks]))


if __name__ == "__main__":
    main(*sys.argv[1:])
