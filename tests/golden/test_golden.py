"""Reports on logs of H200s and H100s have the numbers that PyTorch itself printed in these runs (docs/VALIDATION.md).

test_golden.py NAME, with MEMPROF_REPORT set. tests/postproc/thin_log.c made the logs small."""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20


def report(command, log, *options, whole=False):
    out = subprocess.run([os.environ["MEMPROF_REPORT"], command, *options, "--format", "json", os.path.join(HERE, log)],
                         stdout=subprocess.PIPE, check=True, text=True).stdout
    return json.loads(out) if whole or command == "graphs" else json.loads(out)["logs"][0]


def equal(got, expected, what):
    if got != expected:
        sys.exit(f"{what}: {got}, expected {expected}")


def heap(log, name):
    return next(h for h in log["heaps"] if h["heap"] == name)


def parts(device):
    equal(sum(p["bytes"] for p in device["parts"]), device["used_bytes"], "sum of the device's parts")
    return {p["part"]: p["bytes"] for p in device["parts"]}


def check_peaks(log, device, allocated, reserved):
    """The expected values are those of torch.cuda.memory_stats at the end of the run."""
    torch = heap(log, f"gpu{device}/torch")
    equal(torch["peak_bytes"], allocated, "allocated_bytes.all.peak")
    equal(sum(r["bytes_at_peak"] for r in torch["ranges"]), allocated, "sum of the ranges")
    equal(log["devices"][0]["torch_reserved_peak_bytes"], reserved, "reserved_bytes.all.peak")
    unknown = parts(log["devices"][0])["unknown"]
    if abs(unknown) > log["devices"][0]["used_bytes"] / 100:
        sys.exit(f"unknown: {unknown} bytes")


def captures(log):
    """Returns the bursts of captures, after checking that each has the sum of its graphs' sizes."""
    graphs = report("graphs", log)
    for burst in graphs["bursts"]:
        sizes = [s for s in graphs["sizes"] if s["burst"] == burst["burst"]]
        for key in ("segment_bytes", "executable_bytes", "first_launch_bytes", "bytes"):
            equal(sum(s[key] for s in sizes), burst[key], f"{key} of the sizes")
        equal(sizes[-1]["cumulative_bytes"], burst["bytes"], "bytes of all sizes")
    return graphs["bursts"]


def capture():
    """capture.py printed 14, 625083392 and 658505728."""
    log = report("peaks", "h100-capture.zst")
    check_peaks(log, 0, 625083392, 658505728)
    burst, = captures("h100-capture.zst")
    equal(burst["captures"], 14, "captures of the burst")


def pytorch():
    log = report("peaks", "h200-pytorch.zst")
    check_peaks(log, 0, 159695872, 199229440)
    top = heap(log, "gpu0/torch")["ranges"][0]
    equal((top["path"], top["bytes_at_peak"]), (["capture 256"], 38798336), "the largest range")
    burst, = captures("h200-pytorch.zst")
    equal(burst["captures"], 2, "captures of the burst")
    # a block outside any range and two of the graph's random state, which are freed only at the end of the program
    roles, _ = roles_at("h200-pytorch.zst", "peak", (256 << 10) + 2 * 512)
    equal(roles["graphs"], 37 * MIB, "the graph owns the blocks of its capture and cuBLAS's workspace in its pool")
    equal(roles["activations"], 0, "no pass comes behind the captures")
    oom, = report("oom", "h200-pytorch.zst")["ooms"]
    equal((oom["hard"], oom["bytes"], oom["path"]), (True, 400 << 30, ["too large"]), "the failure")
    equal(oom["python"][-1], "main (gold.py:15)", "the Python line")


def local_memory():
    """The kernel has a local array of 12,000 bytes, on a device of 132 processors with 2,048 threads each."""
    device, = report("peaks", "h200-local-memory.zst", "--at", "end")["devices"]
    parts = {part["part"]: part["bytes"] for part in device["parts"]}
    equal(parts["local_memory"], (12000 - 1024) * 132 * 2048, "local memory")
    equal(device["used_bytes"], 3534553088, "used bytes: a sample at exit has the kernel's")
    equal(abs(parts["unknown"]) < 16 * MIB, True, "nothing else is unexplained")


def nccl():
    for rank in (0, 1):
        log = report("peaks", f"h200-nccl-rank{rank}.zst")
        check_peaks(log, rank, 80 * MIB, 80 * MIB)
        equal([c["bytes"] for c in log["devices"][0]["communicators"]], [484 * MIB] * 2, "NCCL's communicators")
        equal([(c["ranks"], c["rank"]) for c in log["devices"][0]["communicators"]], [(2, rank)] * 2, "their ranks")


def graphs():
    log = report("peaks", "h200-graphs-oom.zst")
    check_peaks(log, 0, 143172830208, 147471728640)
    equal(parts(log["devices"][0])["torch_graph_pools"], 8590983168, "free in the graphs' pools")
    oom, = report("oom", "h200-graphs-oom.zst")["ooms"]
    equal((oom["hard"], oom["bytes"], oom["path"][:2], oom["capturing"]), (True, 2 << 30, ["capture", "batch 65536"], False), "the failure")
    equal([(f["finding"], f["saves_at_most_bytes"]) for f in report("summary", "h200-graphs-oom.zst", "--all", whole=True)["findings"]],
          [("graph_pools_free", 8590983168)], "the finding")
    equal(report("oom", "h200-graphs-eager.zst")["ooms"], [], "failures without graphs")


def fragments():
    device = report("segments", "h100-fragments.zst", whole=True)["devices"][0]
    equal(device["live_bytes"], (950 * 64 + 599 * 2) * MIB, "live bytes")
    equal(device["split_free_bytes"], 599 * 18 * MIB, "holes around the rope cache")
    equal([(p["path"], p["segments"], p["free_bytes"]) for p in device["pins"]], [(["preprocess", "rope cache"], 599, 599 * 18 * MIB)], "the owners of pinned segments")


def autograd():
    log = report("peaks", "h200-autograd.zst", "--backward-of")
    torch = heap(log, "gpu0/torch")
    equal(sum(r["bytes_at_peak"] for r in torch["ranges"]), torch["peak_bytes"], "sum of the ranges")
    got = {tuple(r["path"]): (r["bytes_at_peak"], r["allocations"]) for r in torch["ranges"] if any("Backward" in name for name in r["path"])}
    forward = "backward of forward"
    equal(got, {
        (forward, "second half", "torch:AddmmBackward0"): (46137344, 19), (forward, "first half", "torch:AddmmBackward0"): (4194304, 6),
        (forward, "second half", "torch:ReluBackward0"): (0, 9), (forward, "first half", "torch:ReluBackward0"): (0, 3),
        (forward, "torch:PowBackward0"): (6291456, 9), (forward, "torch:MeanBackward0"): (2097152, 3),
        (forward, "torch:CheckpointFunctionBackward"): (0, 3),
        (forward, "torch:CheckpointFunctionBackward", "torch:GeluBackward0"): (0, 3),
    }, "the owners of the backward")


def sleep():
    """sleep.py printed at each mark: (allocated bytes, sleeping bytes of the plug-in, reserved bytes, used bytes)."""
    printed = {
        "kv cache:1.end": (21378269184, 0, 21648900096, 22310354944),
        "sleep:1.end": (21378269184, 21646802944, 21648900096, None),
        "train:1.end": (46679425024, 21646802944, 47217377280, 26372538368),
        "weights:2.end": (21446426624, 17448304640, 21716008960, 5069668352),
        "kv cache:2.end": (21446426624, 0, 21716008960, 22517972992),
    }
    for at, (allocated, sleeping, reserved, used) in printed.items():
        device = report("peaks", "h100-sleep.zst", "--at", at)["devices"][0]
        part = parts(device)
        equal(part.get("torch_live", 0) + device["torch_asleep_bytes"], allocated, f"{at}: live, awake and asleep")
        equal(device["torch_segment_bytes"] + sleeping, reserved, f"{at}: segments, awake and asleep")
        equal(sum(r["bytes"] for r in device["torch_asleep"]), device["torch_asleep_bytes"], f"{at}: sum of what sleeps")
        equal(part.get("other_libraries", 0) < 130 * MIB, True, f"{at}: nothing but cuBLAS's is anybody else's")
        if used:
            equal(device["used_bytes"], used, f"{at}: used")
        if abs(part["unknown"]) > device["used_bytes"] / 100:
            sys.exit(f"{at}: unknown: {part['unknown']} bytes")
    roles, _ = roles_at("h100-sleep.zst", "peak", 65 * MIB + (32 << 10))
    equal((roles["parameters"], roles["gradients"]), (256 * MIB, 256 * MIB), "the layer's weight and its gradient")
    equal(roles["inputs"], 23 * (1 << 30) + 128 * MIB, "the batch and what the layer is called with")
    asleep = report("peaks", "h100-sleep.zst", "--at", "train:1.end")["devices"][0]["torch_asleep"]
    equal([(r["path"], r["bytes"], r["blocks"]) for r in asleep], [(["kv cache"], 16 << 30, 16), (["weights"], 4198400000, 80)], "ranges with sleeping blocks")


# PyTorch's own numbers of the programs in roles/, in bytes of its allocator's blocks: by log, instant and role.
PYTORCH_ROLES = {
    "gpt2": {
        "boundary": {"parameters": 215044096, "optimizer_state": 428488704, "inputs": 16384, "outputs": 411705856, "activations": 787657216},
        "backward": {"parameters": 215044096, "optimizer_state": 428488704, "inputs": 16384, "outputs": 411705856, "gradients": 215555072},
        "step": {"parameters": 215044096, "optimizer_state": 428488704, "inputs": 16384, "outputs": 411705856, "gradients": 215555072},
    },
    "resnet": {  # parameters: 46810112, and buffers: 51200
        "boundary": {"parameters": 46861312, "optimizer_state": 47858688, "inputs": 19268096, "outputs": 65024, "activations": 409762304},
        "backward": {"parameters": 46861312, "optimizer_state": 47858688, "inputs": 19268096, "outputs": 65024, "gradients": 48464896},
        "step": {"parameters": 46861312, "optimizer_state": 47858688, "inputs": 19268096, "outputs": 65024, "gradients": 48464896},
    },
    "lora": {  # parameters: 184821760, and buffers: 1024
        "boundary": {"parameters": 184822784, "optimizer_state": 524288, "inputs": 16384, "outputs": 132121088, "activations": 436914688},
        "backward": {"parameters": 184822784, "optimizer_state": 524288, "inputs": 16384, "outputs": 132121088, "gradients": 262144},
        "step": {"parameters": 184822784, "optimizer_state": 524288, "inputs": 16384, "outputs": 132121088, "gradients": 262144},
    },
    "fsdp-rank0": {  # during the passes it counts the root's parameters, which are then gathered, as its own
        "boundary": {"optimizer_state": 232692736, "inputs": 8192, "outputs": 65536512, "activations": 179732992},
        "backward": {"parameters": 117526016, "optimizer_state": 232692736, "inputs": 8192, "outputs": 65536512, "gradients": 115953152},
        "step": {"parameters": 117526016, "optimizer_state": 232692736, "inputs": 8192, "outputs": 65536512, "gradients": 115953152},
    },
    "generate": {"prefill": {"parameters": 179317760, "kv_cache": 16777216}, "last": {"parameters": 179317760, "kv_cache": 17006592}},
    "spike": {
        "boundary": {"parameters": 268599296, "optimizer_state": 537198592, "inputs": 33554432, "outputs": 512, "activations": 2415919104},
        "step": {"parameters": 268599296, "optimizer_state": 537198592, "inputs": 33554432, "outputs": 512, "gradients": 268599296},
    },
}
# allocated_bytes.all.peak of torch.cuda.memory_stats at the end
ROLES_PEAKS = {"gpt2": 2734464000, "resnet": 612635136, "lora": 1345779712, "fsdp-rank0": 1048138752, "generate": 500214784, "spike": 4430725632}

# Two numbers of the gradient scaler and the prompt of the generation have no stack.
UNEXPLAINED = {"resnet": dict.fromkeys(("peak", "boundary", "backward", "step"), 1024), "generate": {"peak": 32768}}


def roles_at(log, instant, without_role=0):
    heap, = report("breakdown", log, "--at", instant, whole=True)["heaps"]
    roles = {r["role"]: r["bytes"] for r in heap["roles"]}
    equal(sum(roles.values()), heap["bytes"], f"{log} at {instant}: sum of the roles")
    equal(roles["unexplained"], without_role, f"{log} at {instant}: without a role")
    for r in heap["roles"]:
        equal(sum(p["bytes"] for p in r["parts"]), r["bytes"], f"{log} at {instant}: sum of the parts of {r['role']}")
    return roles, heap


def roles():
    for name, instants in PYTORCH_ROLES.items():
        log = f"h100-{name}.zst"
        unexplained = UNEXPLAINED.get(name, {})
        equal(roles_at(log, "peak", unexplained.get("peak", 0))[1]["bytes"], ROLES_PEAKS[name], f"{name}: allocated_bytes.all.peak")
        for instant, expected in instants.items():
            got, _ = roles_at(log, f"told.{instant}:1", unexplained.get(instant, 0))
            equal({role: got[role] for role in expected}, expected, f"{name}, {instant}")
    got, heap = roles_at("h100-spike.zst", "peak")
    equal((heap["phase"], heap["optimizer_steps_before"]), ("forward", 6), "when the spike is")
    equal(got["temporaries"], (1536 + 128) * MIB, "the temporary blocks of the spike")


def findings():
    """findings.py printed [301989888, 134217728, 67108864], 637535232 and 840957952."""
    check_peaks(report("peaks", "h200-findings.zst"), 0, 637535232, 840957952)
    found = {f["finding"]: f["numbers"] for f in report("summary", "h200-findings.zst", "--all", whole=True)["findings"]}
    equal(found["local_memory"], {"local_memory_bytes": 4152360960}, "local memory") 
    equal(found["idle_communicators"]["communicators"], 1, "communicators without a collective")
    equal(found["graph_pools"], {"pools": 3, "pool_bytes": 301989888 + 134217728 + 67108864, "largest_pool_bytes": 301989888}, "graphs' pools")


def text(command, log, *options):
    return subprocess.run([os.environ["MEMPROF_REPORT"], command, *options, os.path.join(HERE, log)], stdout=subprocess.PIPE, check=True, text=True).stdout


def frameworks():
    """cupyrun.py printed 2952790016 bytes in CuPy's pool. jaxstep.py printed a bytes_limit of 63763906560, and of
    63763120128 with a pool of the driver's."""
    equal(parts(report("peaks", "h100-jax.zst")["devices"][0])["xla"], 63763906560, "XLA's pool")
    equal(parts(report("peaks", "h100-cupy.zst")["devices"][0])["cupy"], 2952790016, "CuPy's pool")
    hint = "XLA_PYTHON_CLIENT_PREALLOCATE=false and XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async"
    equal([hint in text("peaks", f"h100-{name}.zst") for name in ("jax", "jax-async", "cupy")], [True, False, False], "logs whose report names the settings that show the buffers in XLA's pool")
    pooled = report("peaks", "h100-cupy-async.zst")
    equal(parts(pooled["devices"][0])["pools"], 2952790016, "the driver's pool that CuPy uses")
    equal("2.75 GiB   82.1 %  of CuPy" in text("peaks", "h100-cupy-async.zst"), True, "the owner of the pool")
    log = report("peaks", "h100-jax-async.zst")
    device = log["devices"][0]
    equal(heap(log, "gpu0/pool")["peak_bytes"], 63763120128, "XLA's first pool")
    equal(abs(parts(device)["unknown"]) < device["used_bytes"] / 100, True, f"each byte counts once: {device['parts']}")
    names = {name for h in log["heaps"] for r in h["ranges"] for name in r["path"]}
    equal({"TSL:XlaCompile jit_stage", "TSL:XlaCompileBackend jit_stage"} <= names, True, f"XLA's ranges without numbers: {names}")


{"pytorch": pytorch, "local_memory": local_memory, "nccl": nccl, "graphs": graphs, "fragments": fragments, "autograd": autograd, "sleep": sleep, "roles": roles, "capture": capture,
 "findings": findings, "frameworks": frameworks}[sys.argv[1]]()
