"""On a GPU with PyTorch, `export --to torch-snapshot` writes the same blocks and entries as PyTorch's own snapshot of the
run, and PyTorch's viewer opens it.

check_snapshot.py BUILD [FOLDER]      BUILD: a build of memprof; the log and both snapshots stay in FOLDER"""
import collections
import os
import pickle
import subprocess
import sys
import tempfile

KINDS = {"plain": {}, "expandable": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "PYTORCH_ALLOC_CONF": "expandable_segments:True"}}


# ---- the run

def run(path):
    """A training run with steps, a second stream, a graph, a cache that is emptied, and a request that is too large."""
    import torch
    torch.cuda.memory._record_memory_history(context="all", stacks="python", max_entries=1 << 20)
    model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(6)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    side, keep = torch.cuda.Stream(), []
    for i in range(4):
        with torch.cuda.nvtx.range(f"step {i}"):
            with torch.autograd.profiler.record_function("forward pass"):
                loss = model(torch.randn(256 << i % 2, 1024, device="cuda")).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            keep.append(torch.empty((i + 1) << 20, device="cuda"))
    lent = torch.empty(3 << 20, device="cuda")
    with torch.cuda.stream(side):
        lent.record_stream(side)
        on_side = lent * 2
    del lent
    del keep[::2]
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    x, graph = torch.randn(64, 1024, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
    graph.replay()
    try:
        torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        pass
    torch.cuda.synchronize()
    with torch.cuda.nvtx.range("snapshot"):
        with open(path, "wb") as f:
            pickle.dump(torch.cuda.memory._snapshot(), f)
    print(torch.__version__, torch.cuda.get_device_name(), torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved(), len(keep), on_side.shape, y.shape)


# ---- both snapshots in one form

def segments(snapshot):
    """Adapts PyTorch's snapshot to what a log contains: blocks that another stream still uses count as free, and sizes
    are those of blocks."""
    segments_found = []
    for s in sorted(snapshot["segments"], key=lambda s: s["address"]):
        blocks = []
        for b in s["blocks"]:
            live = b["state"] == "active_allocated"
            if blocks and not live and not blocks[-1][2]:
                blocks[-1] = (blocks[-1][0], blocks[-1][1] + b["size"], False)
            else:
                blocks.append((b["address"], b["size"], live))
        segments_found.append((s["device"], s["address"], s["total_size"], s["segment_type"], tuple(s["segment_pool_id"]), s["is_expandable"], tuple(blocks)))
    return segments_found


def entries(trace):
    merged = []
    for e in trace:
        at = e["device_free"] if e["action"] == "oom" else e["addr"]
        if e["action"] == "snapshot":
            continue
        if merged and e["action"] in ("segment_map", "segment_unmap") and merged[-1][0] == e["action"] and merged[-1][1] + merged[-1][2] == at:
            merged[-1] = (*merged[-1][:2], merged[-1][2] + e["size"], *merged[-1][3:])
        else:
            merged.append((e["action"], at, e["size"], e["stream"], e["time_us"], e.get("frames", [])))
    return merged


# ---- comparing

def compare_segments(theirs, ours):
    a, b = segments(theirs), segments(ours)
    wrong = sum(x != y for x, y in zip(a, b)) + abs(len(a) - len(b))
    live = sum(b[2] for s in a for b in s[-1])
    print(f"  segments {len(a)} and {len(b)}, live blocks {live}: {wrong} differ")
    for x in [x for x in a if x not in b][:3]:
        print("    theirs", x[:6], [blk for blk in x[6]][:6])
    for y in [y for y in b if y not in a][:3]:
        print("    ours  ", y[:6], [blk for blk in y[6]][:6])
    return wrong


def compare_entries(theirs, ours):
    """Compares the entries in order, without the completion of frees, which is not in the log. The requested size must
    fit the block at its address."""
    a, b = ([e for e in entries(s["device_traces"][0]) if e[0] != "free_completed"] for s in (theirs, ours))
    first = next((i for i, (x, y) in enumerate(zip(a, b)) if x[:2] != y[:2]), min(len(a), len(b)))
    differ = abs(len(a) - len(b)) + sum(x[:2] != y[:2] for x, y in zip(a, b))
    print(f"  entries {len(a)} and {len(b)}: {differ} differ", dict(collections.Counter(e[0] for e in b)))
    if differ:
        for name, side in (("theirs", a), ("ours  ", b)):
            for e in side[max(0, first - 2):first + 4]:
                print("   ", name, e[:4], e[5][:1])
        return differ
    small = [(x[:3], y[:3]) for x, y in zip(a, b) if x[0] != "oom" and not (x[2] <= y[2] and (x[0].startswith("segment") <= (x[2] == y[2])))]
    rounded = sum(x[2] != y[2] for x, y in zip(a, b) if x[0] == "alloc")
    late = sorted(y[4] - x[4] for x, y in zip(a, b))
    streams = collections.Counter((x[0], bool(x[3]), x[3] == y[3]) for x, y in zip(a, b))
    print(f"  sizes that do not fit {len(small)}, allocations that were rounded up {rounded}; our time minus PyTorch's, us: minimum {late[0]}, median {late[len(late) // 2]}, maximum {late[-1]}")
    print("  streams (action, not the default one, same in both):", {k: v for k, v in streams.items() if k[1] or not k[2]})
    for s in small[:4]:
        print("   ", s)
    return len(small) + compare_frames(a, b)


def plain(frame):
    return frame["name"].partition(" [")[0], frame["filename"], frame["line"]


def compare_frames(a, b):
    with_frames = [(x, y) for x, y in zip(a, b) if x[0] == "alloc" and y[5]]
    wrong = [(x, y) for x, y in with_frames if [plain(f) for f in x[5]] != [plain(f) for f in y[5]]]
    print(f"  allocations with frames: {len(with_frames)} of {sum(x[0] == 'alloc' for x in a)}, {len(wrong)} differ from PyTorch's")
    for x, y in wrong[:2]:
        print("    theirs", [plain(f) for f in x[5]][:4])
        print("    ours  ", [plain(f) for f in y[5]][:4])
    return len(wrong)


def compare_annotations(theirs, ours):
    names = lambda s: [(a["name"], a["stage"]) for a in s.get("external_annotations", [])]
    mine = collections.Counter(names(ours))
    missing = collections.Counter(names(theirs)) - mine
    print(f"  annotations {len(names(theirs))} and {len(names(ours))}, lacking here {dict(missing)}; steps", sum(n.startswith("ProfilerStep#") for n, _ in mine))
    return sum(missing.values())


def opens(path):
    """Runs all parts of PyTorch's viewer that need no browser."""
    from torch.cuda import _memory_viz as viz
    with open(path, "rb") as f:
        data = pickle.load(f)
    as_is = lambda lines: lines
    opened = [viz.segsum(data), viz.trace(data), viz.segments(data, as_is), viz.memory(data, as_is), viz.trace_plot(data), viz.trace_plot(data, plot_segments=True),
            viz.segment_plot(data), viz.compare(data["segments"], data["segments"], as_is)]
    print("  opened:", [len(t) for t in opened])
    print("\n".join("    " + line for line in opened[0].splitlines() if line.startswith(("segments", "total"))))


def check(build, folder, kind):
    log, theirs, ours = (os.path.join(folder, f"{kind}.{end}") for end in ("zst", "theirs.pickle", "ours.pickle"))
    env = {**os.environ, **KINDS[kind], "LD_PRELOAD": os.path.join(build, "preload", "libmemprof.so"), "MEMPROF_OUT": log}
    print(kind, subprocess.run([sys.executable, __file__, "--run", theirs], env=env, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())
    done = subprocess.run([os.path.join(build, "postproc", "memprof-report"), "export", "--to", "torch-snapshot", "--until", "snapshot:1", "-o", ours, log])
    if done.returncode != 0:
        sys.exit(f"export: status {done.returncode}")
    both = []
    for path in (theirs, ours):
        with open(path, "rb") as f:
            both.append(pickle.load(f))
    wrong = compare_segments(*both) + compare_entries(*both) + compare_annotations(*both)
    opens(ours)
    return wrong


def main(build, folder=None):
    with tempfile.TemporaryDirectory() as own:
        wrong = sum(check(os.path.abspath(build), folder or own, kind) for kind in KINDS)
    print(f"{wrong} differences")
    sys.exit(wrong != 0)


if sys.argv[1:2] == ["--run"]:
    run(sys.argv[2])
else:
    main(*sys.argv[1:])
