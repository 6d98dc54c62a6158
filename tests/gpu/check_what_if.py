"""On a GPU with PyTorch, the peaks of reserved memory that what-if computes contain those of runs with these settings.

check_what_if.py BUILD [FOLDER]      BUILD: a build of memprof; logs and snapshots stay in FOLDER

Each program runs once under memprof, and once without it with each of the settings. The programs use one stream. Prints a
line for each pair: the peak of the run, and the lowest, most likely and highest peak of what-if. Also dumps some memory
snapshots of PyTorch into FOLDER."""
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

SETTINGS = ["expandable_segments:True", "max_split_size_mb:32", "roundup_power2_divisions:4", "expandable_segments:True,roundup_power2_divisions:8"]
FRACTION = 0.02     # of the device, for the garbage collector
COLLECTING = f"garbage_collection_threshold:0.5,per_process_memory_fraction:{FRACTION}"
AT_ONCE = 8


# ---- programs; each makes its tensors on one stream

def perceptron(torch, nn, sizes=(96, 96, 96), width=1536, layers=8):
    """Trains with batches of these sizes in turn."""
    model = nn.Sequential(*[layer for _ in range(layers) for layer in (nn.Linear(width, width), nn.GELU())]).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(9):
        model(torch.randn(sizes[step % len(sizes)] * 8, width, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


def batches(torch, nn):
    perceptron(torch, nn, (33, 96, 151, 64, 200))


def accumulation(torch, nn):
    model = nn.Sequential(*[nn.Linear(1024, 1024) for _ in range(12)]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(4):
        for part in range(4):
            model(torch.randn(300 + 37 * part, 1024, device="cuda")).mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)


def language(torch, nn):
    """A language model with sequences of several lengths, and large logits."""
    table, head = nn.Embedding(30000, 512).cuda(), nn.Linear(512, 30000).cuda()
    body = nn.Sequential(*[nn.Sequential(nn.LayerNorm(512), nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)) for _ in range(6)]).cuda()
    optimizer = torch.optim.AdamW([*table.parameters(), *head.parameters(), *body.parameters()])
    for length in (128, 512, 333, 256, 700, 512):
        ids = torch.randint(0, 30000, (4, length), device="cuda")
        nn.functional.cross_entropy(head(body(table(ids))).flatten(0, 1), ids.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()


def cache(torch, nn):
    """Generates with a cache of keys and values that is copied when it grows."""
    project = nn.Linear(1024, 3072).cuda().half()
    with torch.no_grad():
        for _ in range(2):
            keys = torch.empty(8, 16, 0, 64, device="cuda", dtype=torch.half)
            values = keys.clone()
            x = torch.randn(8, 64, 1024, device="cuda", dtype=torch.half)
            for _ in range(120):
                _, k, v = project(x).view(8, -1, 3, 16, 64).permute(2, 0, 3, 1, 4)
                keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
                x = torch.randn(8, 5, 1024, device="cuda", dtype=torch.half)


def pictures(torch, nn):
    """Element-wise operations on pictures of several sizes, in mixed precision."""
    scale = torch.ones(1, 64, 1, 1, device="cuda", requires_grad=True)
    for size in (64, 112, 96, 128, 80, 112):
        x = torch.randn(16, 64, size, size, device="cuda")
        with torch.autocast("cuda"):
            y = x
            for _ in range(6):
                y = torch.relu(y * scale).half().float()
            y.mean().backward()


def checkpoints(torch, nn):
    from torch.utils.checkpoint import checkpoint
    blocks = nn.ModuleList(nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)) for _ in range(8)).cuda()
    for _ in range(4):
        x = torch.randn(2000, 1024, device="cuda", requires_grad=True)
        for block in blocks:
            x = checkpoint(block, x, use_reentrant=False)
        x.sum().backward()
        blocks.zero_grad(set_to_none=True)


def fragments(torch, nn):
    """Small blocks that stay lie between large ones that go; then larger ones are made."""
    keep, go = [], []
    for i in range(60):
        go += [torch.empty((7 + i % 5) << 20, dtype=torch.uint8, device="cuda"), torch.empty((3 + i % 3) << 20, dtype=torch.uint8, device="cuda")]
        keep.append(torch.empty((1 + i % 2) << 20, dtype=torch.uint8, device="cuda"))
    go.clear()
    keep += [torch.empty((25 + 3 * i) << 20, dtype=torch.uint8, device="cuda") for i in range(12)]


def phases(torch, nn):
    """Two models, one after the other, and an emptied cache between them."""
    perceptron(torch, nn, (128,), 1024, 6)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    perceptron(torch, nn, (50, 70), 2048, 5)


def odd(torch, nn):
    """Requests of odd sizes with lifetimes at random."""
    import random
    rng, live = random.Random(7), []
    for _ in range(3000):
        if live and rng.random() < 0.5:
            live.pop(rng.randrange(len(live)))
        else:
            live.append(torch.empty(int(2 ** rng.uniform(8, 24.5)), dtype=torch.uint8, device="cuda"))
        if len(live) > 120:
            del live[rng.randrange(len(live))]


PROGRAMS = [perceptron, batches, accumulation, language, cache, pictures, checkpoints, fragments, phases, odd]


def run(name, fraction, snapshot):
    import torch
    torch.manual_seed(0)
    torch.cuda.init()
    if float(fraction):
        torch.cuda.set_per_process_memory_fraction(float(fraction))
    if snapshot:
        torch.cuda.memory._record_memory_history(stacks="python", max_entries=400)
    try:
        globals()[name](torch, torch.nn)
        if snapshot:
            torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError as error:
        if not snapshot:
            print(error, file=sys.stderr)
    if snapshot:
        torch.cuda.memory._dump_snapshot(snapshot)
    print(json.dumps({"version": torch.__version__, "device": torch.cuda.get_device_name(), "reserved": torch.cuda.max_memory_reserved(),
                      "allocated": torch.cuda.max_memory_allocated(), "ooms": torch.cuda.memory_stats()["num_ooms"]}))


# ---- the check

def start(name, settings="", fraction=0, snapshot="", **env):
    conf = ",".join(part for part in settings.split(",") if part and not part.startswith("per_process"))
    done = subprocess.run([sys.executable, __file__, "run", name, str(fraction), snapshot], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTORCH_CUDA_ALLOC_CONF": conf, "PYTORCH_ALLOC_CONF": conf, **env}, check=False)
    if done.returncode:
        return {"error": done.stderr[-2000:]}
    return json.loads(done.stdout.splitlines()[-1])


def what_if(build, log, settings):
    done = subprocess.run([os.path.join(build, "postproc/memprof-report"), "what-if", "--format", "json", "--alloc-conf", settings, log],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return json.loads(done.stdout)["devices"][0] if done.returncode == 0 else {"replayed": False, "reason": done.stderr}


def compare(name, settings, truth, computed):
    """Returns whether the run's peak is in the interval, and the error of the most likely peak in percent."""
    if "error" in truth or not computed["replayed"]:
        print(f"FAIL {name:13} {settings}: {truth.get('error', '')} {computed.get('reason', '')}", flush=True)
        return False, 100
    low, likely, high = (computed[f"reserved_{key}bytes"] for key in ("low_", "", "high_"))
    inside, error = low <= truth["reserved"] <= high, 100 * (likely / truth["reserved"] - 1)
    print(f"{'ok  ' if inside else 'FAIL'} {name:13} {settings:55} run {truth['reserved']:>12}  what-if {low:>12} {likely:>12} {high:>12}  {error:+.2f} %"
          f"  fits {computed['fits']}, OOMs {truth['ooms']}", flush=True)
    return inside, abs(error)


def check(build, folder):
    library = os.path.join(build, "preload/libmemprof.so")
    names = [program.__name__ for program in PROGRAMS]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        logs = {name: os.path.join(folder, f"{name}.zst") for name in names}
        recorded = {name: pool.submit(start, name, LD_PRELOAD=library, MEMPROF_OUT=logs[name], MEMPROF_QUIET="1") for name in names}
        runs = {(name, s): pool.submit(start, name, s, FRACTION if s == COLLECTING else 0) for name in names for s in [*SETTINGS, COLLECTING]}
        dumps = [pool.submit(start, name, s, 0, os.path.join(folder, f"{name}{'-expandable' if s else ''}.pickle"))
                 for name in ("accumulation", "odd") for s in ("", SETTINGS[0])]
        concurrent.futures.wait([*recorded.values(), *runs.values(), *dumps])
    print(next(iter(recorded.values())).result())
    results = [compare(name, "expandable_segments:False", recorded[name].result(), what_if(build, logs[name], "expandable_segments:False")) for name in names]
    results += [compare(name, s, done.result(), what_if(build, logs[name], s)) for (name, s), done in runs.items()]
    print(f"{len(results)} pairs, {sum(not inside for inside, _ in results)} outside; largest error {max(e for _, e in results):.2f} %")
    print("snapshots:", [dump.result() for dump in dumps])
    return all(inside for inside, _ in results)


def main(build, folder=None):
    if folder:
        sys.exit(not check(os.path.abspath(build), folder))
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(not check(os.path.abspath(build), temporary))


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
