"""A log exported as a snapshot of PyTorch's allocator gives tools for such snapshots the numbers of the reports, and is written completely or not at all.
No PyTorch is needed.

test_torch_snapshot.py NAME, with MEMPROF_REPORT, MAKE_GPU_LOG and GOLDEN set."""
import fcntl
import glob
import io
import os
import pickle
import pickletools
import stat
import subprocess
import sys
import tempfile

from exports import GOLDEN, REPORT, check, made, report

# The opcodes that the viewer of PyTorch (torch/utils/viz/MemoryViz.js) can read.
VIEWER = set("""PROTO STOP MARK EMPTY_LIST EMPTY_DICT EMPTY_TUPLE APPEND APPENDS SETITEM SETITEMS LIST DICT TUPLE TUPLE1 TUPLE2 TUPLE3 NONE NEWTRUE NEWFALSE
BININT BININT1 BININT2 LONG1 BINFLOAT SHORT_BINUNICODE BINUNICODE MEMOIZE BINPUT LONG_BINPUT BINGET LONG_BINGET FRAME""".split())
FREED = {"segment_free", "segment_unmap"}
MADE = {"segment_alloc", "segment_map"}


def export(*words, **more):
    return subprocess.run([REPORT, "export", "--to", "torch-snapshot", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


class NoCode(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name} is asked for")


def loaded(log, *words, status=0):
    done = export("-o", "-", *words, log)
    check(done.returncode == status, log, words, done.returncode, done.stderr.decode())
    used = {op.name for op, _, _ in pickletools.genops(done.stdout)}
    check(used <= VIEWER, log, "the viewer does not know", used - VIEWER)
    return NoCode(io.BytesIO(done.stdout)).load()


def golden(*names):
    return [os.path.join(GOLDEN, f"{name}.zst") for name in names]


def with_torch():
    logs = [log for log in sorted(glob.glob(os.path.join(GOLDEN, "h[12]00-*.zst"))) if not any(other in log for other in ("walk", "cupy", "jax", "local-memory"))]
    check(len(logs) > 10, logs)
    return logs


# ---- simulation of tools

class Memory:
    """Segments and blocks while entries are applied, as the viewer draws them. Anything that it could not draw is an
    error."""

    def __init__(self):
        self.segment, self.block, self.reserved, self.allocated = {}, {}, 0, 0

    def inside(self, addr, size):
        while size > 0:
            found = next(((a, s) for a, s in self.segment.items() if a <= addr < a + s), None)
            check(found, hex(addr), "lies in no segment")
            past = found[0] + found[1] - addr
            addr, size = addr + past, size - past

    def cut(self, addr, size):
        """Expandable segments are unmapped in other pieces than they were mapped in."""
        while size > 0:
            a = next((a for a, s in self.segment.items() if a <= addr < a + s), None)
            check(a is not None, hex(addr), "is given back, and was none")
            s = self.segment.pop(a)
            if a < addr:
                self.segment[a] = addr - a
            taken = min(a + s - addr, size)
            if addr + taken < a + s:
                self.segment[addr + taken] = a + s - addr - taken
            addr, size = addr + taken, size - taken

    def apply(self, e):
        action, addr, size = e["action"], e.get("addr"), e["size"]
        if action in MADE:
            check(all(addr + size <= a or a + s <= addr for a, s in self.segment.items()), hex(addr), "is a segment already")
            self.segment[addr] = size
            self.reserved += size
        elif action in FREED:
            check(not any(addr <= b < addr + size for b in self.block), hex(addr), "goes below live blocks")
            self.cut(addr, size)
            self.reserved -= size
        elif action == "alloc":
            check(addr not in self.block, hex(addr), "is live")
            self.inside(addr, size)
            self.block[addr] = size
            self.allocated += size
        elif action == "free_completed":
            check(self.block.pop(addr, None) == size, hex(addr), "was not live with that size")
            self.allocated -= size


def shapes(snapshot, log):
    """Checks the properties that segsum, memory and others rely on."""
    for s in snapshot["segments"]:
        check(set(s) == {"device", "address", "total_size", "allocated_size", "active_size", "requested_size", "stream", "segment_type", "segment_pool_id",
                         "is_expandable", "frames", "blocks"}, log, s.keys())
        check(sum(b["size"] for b in s["blocks"]) == s["total_size"] > 0, log, hex(s["address"]), "blocks do not fill it")
        check(sum(b["size"] for b in s["blocks"] if b["state"] == "active_allocated") == s["allocated_size"], log, "allocated_size")
        at = s["address"]
        for b in s["blocks"]:
            check(b["address"] == at and b["requested_size"] == b["size"], log, b)
            at += b["size"]
    frames = [f for t in snapshot["device_traces"] for e in t for f in e["frames"]] + [f for s in snapshot["segments"] for b in s["blocks"] for f in b["frames"]]
    check(all(set(f) == {"name", "filename", "line"} for f in frames), log, "frames")
    return frames


def peaks_match_pytorch(folder):
    """The entries of the trace, applied one by one, have the peaks that PyTorch itself printed, and end with the listed
    segments and blocks."""
    for log in [*with_torch(), *(made(folder, "MAKE_GPU_LOG", s) for s in ("expandable", "segments", "graphs", "layers"))]:
        snapshot, log_peaks = loaded(log, "--until", "end"), report("peaks", log, "--by", "range")["logs"][0]
        shapes(snapshot, log)
        heaps, devices = {h["heap"]: h for h in log_peaks["heaps"]}, {d["index"]: d for d in log_peaks["devices"]}
        check(any(snapshot["device_traces"]), log, "is empty")
        for device, trace in enumerate(snapshot["device_traces"]):
            if not trace:
                continue
            memory, max_allocated, reserved = Memory(), 0, 0
            for e in trace:
                memory.apply(e)
                max_allocated, reserved = max(max_allocated, memory.allocated), max(reserved, memory.reserved)
            heap = heaps[f"gpu{device}/torch"]
            check((max_allocated, memory.allocated) == (heap["peak_bytes"], heap["end_bytes"]), log, device, max_allocated, memory.allocated, heap)
            own = devices[device].get("torch_reserved_peak_bytes")
            check(reserved == own or folder in log, log, device, "reserved", reserved, own)
            mine = [s for s in snapshot["segments"] if s["device"] == device]
            check(sum(s["total_size"] for s in mine) == memory.reserved, log, "segments at the end")
            live = {b["address"]: b["size"] for s in mine for b in s["blocks"] if b["state"] == "active_allocated"}
            check(live == memory.block, log, "blocks at the end")
            times = [e["time_us"] for e in trace]
            check(times == sorted(times), log, "is not in order")


def segments_have_pool_device_and_stream(folder):
    graphs, = golden("h200-pytorch")
    snapshot = loaded(graphs)
    pools = {tuple(s["segment_pool_id"]) for s in snapshot["segments"]}
    wanted = {tuple(s["pool"] or (0, 0)) for d in report("segments", graphs, "--at", "end")["devices"] for s in d["segments"]}
    check(pools == wanted and len(pools) > 1, "pools", pools, wanted)
    kinds = {s["segment_type"] for s in snapshot["segments"]}
    check(kinds == {"small", "large"}, kinds)
    check(any(e["stream"] for e in snapshot["device_traces"][0] if e["action"] == "alloc"), "a capture has a stream")
    frames = shapes(snapshot, graphs)
    check(any(f["name"] == "cuda" and f["filename"].endswith("site-packages/torch/nn/modules/module.py") and f["filename"].startswith("/") and f["line"] for f in frames), "frames")
    ooms = [e for e in snapshot["device_traces"][0] if e["action"] == "oom"]
    check([e["size"] for e in ooms] == [400 << 30] and ooms[0]["device_free"] > 1 << 30, ooms)
    ooms = [e for e in loaded(made(folder, "MAKE_GPU_LOG", "refusals"))["device_traces"][0] if e["action"] == "oom"]
    check([(e["size"] >> 20, e["device_free"] >> 20) for e in ooms] == [(201, 1), (202, 2)], "two at one time", ooms)
    expands = loaded(made(folder, "MAKE_GPU_LOG", "expandable"))
    check(any(s["is_expandable"] for s in expands["segments"]) and expands["allocator_settings"] == {"expandable_segments": True}, "expandable")
    check(any(e["action"] == "segment_map" for e in expands["device_traces"][0]), "expandable")
    second = loaded(*golden("h200-nccl-rank1"))
    check(not second["device_traces"][0] and second["device_traces"][1] and {s["device"] for s in second["segments"]} == {1}, "the second device")


def ranges_become_annotations(folder):
    log, = golden("h100-spike")
    annotations = loaded(log)["external_annotations"]
    open_now, steps = [], 0
    for a in annotations:
        check(set(a) == {"name", "stage", "device", "time_us"}, a)
        if a["stage"] == "START":
            open_now.append(a["name"])
        else:
            check(a["name"] in open_now, a, "was not open")
            del open_now[len(open_now) - 1 - open_now[::-1].index(a["name"])]
        if a["name"].startswith("ProfilerStep#") and a["stage"] == "START":
            check(a["name"] == f"ProfilerStep#{steps}", a)
            steps += 1
    check(not open_now and steps == report("steps", log)["instances"], open_now, steps)
    names = {a["name"] for a in annotations}
    check({"step", "forward", "Optimizer.step#AdamW.step"} <= names and not any("torch:Opt" in n for n in names), names)
    own = loaded(made(folder, "MAKE_GPU_LOG", "profiler"))["external_annotations"]
    check([a["name"] for a in own if a["stage"] == "START"] == [n for i in range(7, 11) for n in ("step", f"ProfilerStep#{i}")], "steps of torch.profiler stay alone", own)
    other = loaded(*golden("h200-nccl-rank0"))["external_annotations"]
    check(not any(a["name"].startswith("ProfilerStep") for a in other), "a range of PyTorch's is no step")


def can_be_limited_to_a_time_span(folder):
    log, = golden("h100-spike")
    whole, some = loaded(log), loaded(log, "--from", "step:3", "--until", "step:4.end")
    first, last = [[a["time_us"] for a in whole["external_annotations"] if (a["name"], a["stage"]) == w][0] for w in (("ProfilerStep#2", "START"), ("ProfilerStep#3", "END"))]
    inside = lambda t: [e for e in t if first <= e["time_us"] <= last]
    trace = some["device_traces"][0]
    plain = lambda t: [(e["action"], e["addr"], e["size"]) for e in t]
    check(0 < len(trace) < len(whole["device_traces"][0]) / 2 and plain(trace) == plain(inside(whole["device_traces"][0])), len(trace))
    memory = Memory()
    for e in whole["device_traces"][0]:
        if e["time_us"] <= last:
            memory.apply(e)
    live = {b["address"]: b["size"] for s in some["segments"] for b in s["blocks"] if b["state"] == "active_allocated"}
    check(live == memory.block and sum(s["total_size"] for s in some["segments"]) == memory.reserved, "the state at the end of the span")
    steps = [(a["name"], a["stage"]) for a in some["external_annotations"] if a["name"].startswith("Prof")]
    check(steps == [(f"ProfilerStep#{i}", s) for i in (2, 3) for s in ("START", "END")], steps)
    large = loaded(log, "--min", "1MiB")
    wanted = [e for e in whole["device_traces"][0] if e["action"] != "alloc" or e["size"] >= 1 << 20]
    check(len([e for e in large["device_traces"][0] if e["action"] == "alloc"]) == len([e for e in wanted if e["action"] == "alloc"]) > 0, "--min")


def ranges_around_a_time_span_are_included(folder):
    some = loaded(*golden("h100-spike"), "--from", "forward:2", "--until", "forward:2")["external_annotations"]
    names = ["ProfilerStep#1", "step", "forward"]
    check([(a["name"], a["stage"]) for a in some] == [(n, "START") for n in names] + [(n, "END") for n in reversed(names)], some)


def names_can_contain_any_bytes(folder):
    log = os.path.join(folder, "names.zst")
    subprocess.run([os.environ["MAKE_GPU_LOG"], "names", log], check=True)
    names = [a["name"] for a in loaded(log)["external_annotations"]]
    check(any("\ufffd" in n for n in names) and any(len(n) > 300 for n in names), names)


# ---- failures

def failed_export_keeps_the_old_file(folder):
    good, none, old = golden("h200-pytorch")[0], golden("host-large")[0], os.path.join(folder, "old.pickle")
    with open(old, "w") as f:
        f.write("what was there")
    for words, status, word in (([none], 1, "PyTorch"), ([os.path.join(folder, "no.zst")], 1, "no.zst"), (["--from=2ms", "--until=1ms", good], 1, "--until"),
                                (["--min", "much", good], 2, "--min")):
        done = export("-o", old, *words)
        check(done.returncode == status and word in done.stderr.decode(), words, done)
        with open(old) as f:
            check(f.read() == "what was there", words, "the old file is gone")
    far = os.path.join(folder, "no/such/dir.pickle")
    done = export("-o", far, good)
    check(done.returncode == 1 and far in done.stderr.decode(), "no such folder", done)
    done = subprocess.run([REPORT, "--max-memory=1", "export", "--to", "torch-snapshot", "-o", old, golden("h100-gpt2")[0]], stderr=subprocess.PIPE)
    check(done.returncode == 1 and b"--max-memory" in done.stderr, "without memory", done)
    check(sorted(os.listdir(folder)) == ["old.pickle"], "a part stays", os.listdir(folder))
    done = export("-o", old, good)
    check(done.returncode == 0 and sorted(os.listdir(folder)) == ["old.pickle"], done, os.listdir(folder))
    with open(old, "rb") as f:
        check(pickle.load(f)["segments"], "the new snapshot replaces the old one")


def is_not_left_behind_on_a_full_disk(folder):
    """The disk is full: files have a maximum size."""
    path = os.path.join(folder, "full.pickle")
    done = subprocess.run(["bash", "-c", 'ulimit -f 16; trap "" XFSZ; exec "$@"', "bash", REPORT, "export", "--to", "torch-snapshot", "-o", path, *golden("h100-spike")],
                          stderr=subprocess.PIPE, text=True)
    check(done.returncode == 1 and path in done.stderr and not os.listdir(folder), "a full disk", done, os.listdir(folder))


def can_be_written_to_a_fifo(folder):
    fifo, log = os.path.join(folder, "fifo"), golden("h200-pytorch")[0]
    os.mkfifo(fifo)
    with subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE) as reader:
        done = export("-o", fifo, log)
        written = reader.stdout.read()
    check(done.returncode == 0 and stat.S_ISFIFO(os.stat(fifo).st_mode), done)
    check(written == export("-o", "-", log).stdout and pickle.loads(written)["segments"], "the output is a whole snapshot")


# A file system that cannot create unnamed files, so a partial file with a fixed name exists during the write.
NAMED = {**os.environ, "LD_PRELOAD": os.environ["NO_TMPFILE"]}


def refuses_a_second_writer(folder):
    """A second writer gets an error. The partial file of a killed writer is removed."""
    path, log = os.path.join(folder, "out.pickle"), golden("h200-pytorch")[0]
    with open(f"{path}.part", "w") as part:
        fcntl.flock(part, fcntl.LOCK_EX)
        done = export("-o", path, log, env=NAMED)
        check(done.returncode == 1 and b"another process" in done.stderr, done)
        part.write("half")
    done = export("-o", path, log, env=NAMED)
    check(done.returncode == 0 and os.listdir(folder) == ["out.pickle"], done, os.listdir(folder))
    with open(path, "rb") as f:
        check(pickle.load(f)["segments"], "the snapshot is whole")


def does_not_replace_a_part_file_of_another_user(folder):
    """A file at the path of the partial file, also one with another link, or of another user."""
    path, other, log = os.path.join(folder, "out.pickle"), os.path.join(folder, "other"), golden("h200-pytorch")[0]
    with open(other, "w") as f:
        f.write("mine")
    os.link(other, f"{path}.part")
    refused = [export("-o", path, log, env=NAMED)]
    os.remove(f"{path}.part")
    if os.geteuid() == 0:
        os.chown(other, 1, 1)
        os.rename(other, f"{path}.part")
        refused.append(export("-o", path, log, env=NAMED))
        os.rename(f"{path}.part", other)
    check(all(r.returncode == 1 and b"its .part file belongs to another user" in r.stderr for r in refused) and os.listdir(folder) == ["other"], refused, os.listdir(folder))
    with open(other) as f:
        check(f.read() == "mine", "the file is unchanged")


def of_an_oom_shows_the_instant_of_the_failure(folder):
    """The program frees all blocks before it ends."""
    def active(snapshot):
        return sum(s["active_size"] for s in snapshot["segments"])
    log, = golden("h200-graphs-oom")
    done = export("-o", "-", log)
    at_oom, at_end = loaded(log), loaded(log, "--until", "end")
    check(at_oom == loaded(log, "--until", "oom") and at_oom["device_traces"][0][-1]["action"] == "oom", "the end of the trace")
    check(active(at_oom) > 129 << 30 and active(at_end) < 1 << 30, active(at_oom), active(at_end))
    later = made(folder, "MAKE_GPU_LOG", "survivor")
    check(loaded(later) == loaded(later, "--until", "end") != loaded(later, "--until", "oom"), "a process that held more after an OOM")
    check(b"--until=end" in done.stderr, done.stderr)
    check(not export("-o", "-", *golden("h200-graphs-eager")).stderr, "without an OOM there is no note")


def of_a_damaged_log_exits_with_status_3(folder):
    log, = golden("h200-pytorch")
    damaged = os.path.join(folder, "damaged.zst")
    with open(log, "rb") as f, open(damaged, "wb") as out:
        out.write(f.read() + b"no frame")
    check(loaded(damaged, status=3) == loaded(log), "the intact part of the log is in the snapshot")


def of_several_logs_shows_the_first_rank(folder):
    """One snapshot has one process."""
    done = export("-o", "-", *golden("h200-nccl-rank0", "h200-nccl-rank1"))
    check(done.returncode == 0 and b"2 logs; showing rank 0" in done.stderr and pickle.loads(done.stdout)["segments"], done.stderr)


with tempfile.TemporaryDirectory() as temporary:
    globals()[sys.argv[1]](temporary)
