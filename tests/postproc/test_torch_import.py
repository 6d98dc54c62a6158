"""Memory snapshots of PyTorch are opened like logs. No PyTorch is needed.

test_torch_import.py NAME, with MEMPROF_REPORT and GOLDEN set."""
import os
import pickle
import subprocess
import sys
import tempfile

from exports import GOLDEN, REPORT, check, golden, report

MIB = 1 << 20
FRAMES = [{"name": "forward", "filename": "model.py", "line": 7}, {"name": "main", "filename": "train.py", "line": 30}]
NATIVE = [{"name": "c10::Allocator::allocate", "filename": "??", "line": 0}]
START = 1_700_000_000_000_000   # us


def entry(action, addr, size, at, **more):
    return {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": START + at, "frames": NATIVE + FRAMES, **more}


def block(address, size, state="active_allocated"):
    return {"address": address, "size": size, "requested_size": size, "state": state, "frames": FRAMES}


def segment(address, blocks, **more):
    total = sum(b["size"] for b in blocks)
    return {"device": 0, "address": address, "total_size": total, "allocated_size": 0, "active_size": 0, "requested_size": 0, "stream": 0,
            "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": FRAMES, "blocks": blocks, **more}


A, B = 0x7f0000000000, 0x7f1000000000


def training():
    """A segment and a block are older than the first entry. Then a segment of 40 MiB is made, and memory runs out."""
    return {
        "segments": [segment(A, [block(A, 4 * MIB), block(A + 4 * MIB, 16 * MIB, "inactive")]), segment(B, [block(B, 40 * MIB)])],
        "device_traces": [[
            entry("free_requested", A + 8 * MIB, 6 * MIB - 100, 0), entry("free_completed", A + 8 * MIB, 6 * MIB - 100, 0),
            entry("segment_alloc", B, 40 * MIB, 1000), entry("alloc", B, 40 * MIB, 1000),
            {"action": "oom", "device_free": 3 * MIB, "size": 90 * MIB, "stream": 0, "time_us": START + 5000, "frames": FRAMES},
            entry("snapshot", 0, 44 * MIB, 6000)]],
        "external_annotations": [{"name": "step", "stage": "START", "device": 0, "time_us": START + 900},
                                 {"name": "step", "stage": "END", "device": 0, "time_us": START + 1100}],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0, "expandable_segments": False,
                               "roundup_power2_divisions": {"1": 0, ">": 0}}}


def expandable():
    """Memory is mapped, unmapped in other pieces, and mapped again. 20 MiB are older than the trace."""
    return {
        "segments": [segment(A, [block(A, 30 * MIB), block(A + 30 * MIB, 10 * MIB, "inactive")], is_expandable=True)],
        "device_traces": [[
            entry("segment_map", A + 20 * MIB, 60 * MIB, 10), entry("alloc", A, 30 * MIB, 10), entry("alloc", A + 40 * MIB, 20 * MIB, 20),
            entry("free_requested", A + 40 * MIB, 20 * MIB, 30), entry("segment_unmap", A + 40 * MIB, 40 * MIB, 40)]]}


def written(folder, snapshot, protocol=4, name="a.pickle"):
    path = os.path.join(folder, name)
    with open(path, "wb") as f:
        pickle.dump(snapshot, f, protocol)
    return path


def heaps(path):
    return {h["heap"]: h for h in report("peaks", path)["logs"][0]["heaps"]}


def peaks_of_an_exported_log_are_those_of_the_log(folder):
    for name in ("h100-fragments", "h100-gpt2", "h100-lora", "h100-sleep", "h100-spike", "h200-autograd", "h200-graphs-eager", "h200-pytorch"):
        path = os.path.join(folder, f"{name}.pickle")
        subprocess.run([REPORT, "export", "--to", "torch-snapshot", "--until", "end", "-o", path, golden(name)], check=True)
        log, snapshot = heaps(golden(name))["gpu0/torch"], heaps(path)["gpu0/torch"]
        for key in ("peak_bytes", "blocks_at_peak", "allocations", "frees", "end_bytes"):
            check(log[key] == snapshot[key], name, key, log[key], snapshot[key])


def snapshots_of_pytorch_end_with_its_totals(folder):
    """Dumped by PyTorch 2.11 on an H100 (tests/gpu/check_what_if.py) with max_entries=400, so most of the memory is older."""
    for name in ("h100-accumulation-expandable", "h100-odd"):
        path = os.path.join(GOLDEN, "snapshots", f"{name}.pickle")
        with open(path, "rb") as f:
            snapshot = pickle.load(f)
        blocks = [b for s in snapshot["segments"] for b in s["blocks"] if b["state"] == "active_allocated"]
        expected = sum(s["total_size"] for s in snapshot["segments"]), sum(b["size"] for b in blocks), len(blocks)
        found = heaps(path)
        check((found["gpu0/device"]["end_bytes"], found["gpu0/torch"]["end_bytes"], found["gpu0/torch"]["end_blocks"]) == expected, name, expected, found)
        oom, = [e for e in snapshot["device_traces"][0] if e["action"] == "oom"]
        event, = report("oom", path)["logs"][0]["ooms"]
        check(event["bytes"] == oom["size"] and event["free_bytes"] == oom["device_free"], name, event)


def protocols_2_to_5_are_read(folder):
    expected = None
    for protocol in (2, 3, 4, 5):
        found = heaps(written(folder, training(), protocol))
        check(set(found) == {"gpu0/device", "gpu0/torch"}, found.keys())
        check(expected in (None, found), protocol)
        expected = found
    for protocol in (0, 1):
        done = subprocess.run([REPORT, "peaks", written(folder, training(), protocol)], stderr=subprocess.PIPE, text=True, check=False)
        check(done.returncode == 1 and "not a memprof log" in done.stderr, done)


def memory_that_is_older_than_the_trace_is_live_at_its_beginning(folder):
    found = heaps(written(folder, training()))
    check(found["gpu0/torch"]["peak_bytes"] == 44 * MIB and found["gpu0/torch"]["end_bytes"] == 44 * MIB, found["gpu0/torch"])
    # 4 MiB until the end, and 6 MiB that are freed first, rounded up to 512 bytes
    check(found["gpu0/torch"]["allocations"] == 3 and found["gpu0/torch"]["frees"] == 1, found["gpu0/torch"])
    check(found["gpu0/device"]["peak_bytes"] == 60 * MIB, found["gpu0/device"])


def out_of_memory_errors_and_ranges_are_read(folder):
    path = written(folder, training())
    event, = report("oom", path)["logs"][0]["ooms"]
    check(event["bytes"] == 90 * MIB and event["free_bytes"] == 3 * MIB and event["hard"], event)
    by_range = {tuple(row["path"]): row["bytes_at_peak"] for h in report("peaks", path, "--by", "range")["logs"][0]["heaps"] if h["heap"] == "gpu0/torch"
                for row in h["ranges"]}
    check(by_range[("step",)] == 40 * MIB, by_range)
    by_python = {tuple(row["path"]): row["bytes_at_peak"] for h in report("peaks", path, "--by", "python")["logs"][0]["heaps"] if h["heap"] == "gpu0/torch"
                 for row in h["ranges"]}
    check(by_python == {("main (train.py:30)", "forward (model.py:7)"): 44 * MIB}, by_python)


def expandable_segments_are_read(folder):
    path = written(folder, expandable())
    found = heaps(path)
    check(found["gpu0/device"]["peak_bytes"] == 80 * MIB and found["gpu0/device"]["end_bytes"] == 40 * MIB, found["gpu0/device"])
    device, = report("segments", path, "--at", "end")["devices"]
    check(len(device["segments"]) == 1 and device["segments"][0]["expandable"] and device["bytes"] == 40 * MIB, device)


def what_if_replays_exact_requests(folder):
    """A block of 12 MiB for a request of 11.2 MiB: a second one is for the same bytes. Expandable segments need 40 MiB for three."""
    size, C = 11 * MIB + 200_000, 0x7f2000000000
    trace = [entry("segment_alloc", A, 12 * MIB, 0), entry("alloc", A, size, 0), entry("segment_alloc", B, 12 * MIB, 1), entry("alloc", B, size, 1),
             entry("free_requested", A, size, 2), entry("alloc", A, size - 512, 3), entry("segment_alloc", C, 12 * MIB, 4), entry("alloc", C, size, 4)]
    path = written(folder, {"segments": [], "device_traces": [trace]})
    device, = report("what-if", path, "--alloc-conf", "expandable_segments:True")["devices"]
    check(device["replayed"] and device["inexact_allocations"] == 0, device)
    check(device["recorded_reserved_bytes"] == 36 * MIB and device["reserved_low_bytes"] == device["reserved_high_bytes"] == 40 * MIB, device)
    device, = report("what-if", written(folder, training()), "--alloc-conf", "expandable_segments:True")["devices"]
    check(not device["replayed"] and "beginning of the run" in device["reason"], device)


def what_if_replays_expandable_segments(folder):
    """30 and 15 MiB share 60 MiB of a segment. Plain segments have 30 and 16 MiB, and the second one is released."""
    trace = [entry("segment_map", A, 40 * MIB, 0), entry("alloc", A, 30 * MIB, 0), entry("segment_map", A + 40 * MIB, 20 * MIB, 1),
             entry("alloc", A + 30 * MIB, 15 * MIB, 1), entry("free_requested", A + 30 * MIB, 15 * MIB, 2), entry("segment_unmap", A + 40 * MIB, 20 * MIB, 3),
             entry("segment_map", B, 2 * MIB, 4), entry("alloc", B, 4096, 4), entry("segment_map", A + 40 * MIB, 20 * MIB, 5), entry("alloc", A + 30 * MIB, 20 * MIB, 5)]
    path = written(folder, {"segments": [], "device_traces": [trace]})
    device, = report("what-if", path, "--alloc-conf", "expandable_segments:False")["devices"]
    check(device["replayed"] and device["recorded_reserved_bytes"] == 62 * MIB and device["reserved_bytes"] == 52 * MIB, device)
    device, = report("what-if", path, "--alloc-conf", "expandable_segments:True")["devices"]
    check(device["reserved_low_bytes"] == device["reserved_high_bytes"] == 62 * MIB, device)


def snapshots_of_a_folder_are_read(folder):
    for rank in range(3):
        written(folder, training(), 4, f"rank{rank}.pickle")
    check(len(report("oom", folder)["logs"]) == 3)


def cut_and_strange_files_are_refused(folder):
    whole = pickle.dumps(training(), 4)
    texts = {len(whole) - 1: "cut at its end", len(whole) // 2: "", 40: "", 3: ""}
    for size, text in texts.items():
        path = os.path.join(folder, "cut.pickle")
        with open(path, "wb") as f:
            f.write(whole[:size])
        done = subprocess.run([REPORT, "summary", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        check(done.returncode == 1 and not done.stdout and path in done.stderr and text in done.stderr, size, done)
    for value in (os.getcwd, {"a": 1}, [1, 2], {"device_traces": 5, "segments": None}):
        done = subprocess.run([REPORT, "summary", written(folder, value)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        check(done.returncode == 1 and "not a memory snapshot of PyTorch" in done.stderr, value, done)


def snapshots_can_be_compared(folder):
    a, b = written(folder, training(), 4, "a.pickle"), written(folder, expandable(), 4, "b.pickle")
    done = subprocess.run([REPORT, "diff", "--format", "json", a, b], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    check(done.returncode == 0, done)
    done = subprocess.run([REPORT, "summary", a], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    check(done.returncode == 0 and "a memory snapshot of PyTorch" in done.stdout, done)


def whole_trace_of_many_entries_is_read(folder):
    """More entries, frames and memoized values than one byte, two bytes and one batch can number."""
    trace = []
    for i in range(70000):
        frames = [{"name": f"f{i % 300}", "filename": "a.py", "line": i % 300}]
        trace.append({**entry("alloc", A + (i % 100) * 4096, 4096, i), "frames": frames})
        if i >= 99:
            trace.append(entry("free_requested", A + (i + 1) % 100 * 4096, 4096, i))
    found = heaps(written(folder, {"segments": [], "device_traces": [trace]}))["gpu0/torch"]
    check(found["blocks_at_peak"] == 100 and found["allocations"] == 70000, found)


if __name__ == "__main__":
    check(GOLDEN)
    with tempfile.TemporaryDirectory() as scratch:
        globals()[sys.argv[1]](scratch)
