"""With MEMPROF_HOST, the recorded blocks and the totals of the other blocks agree with exact counts."""
import json
import math
import os
import sys

import mp

LARGE = 4096
SMALL = "(blocks under 4.00 KiB)"
SCRIPT = "import json, random\nrandom.seed(1)\nx = [json.loads(json.dumps(['y' * random.randrange(9000), i])) for i in range(3000)]"


def recorded(mode, argv, **env):
    return mp.run(argv, env={"MEMPROF_HOST": mode, **env}).logs.one()


def over_the_oracle(mode, argv, allocator=()):
    """Returns the program's log, and the counts of the calls that reached the allocator."""
    out = os.path.join(mp.fresh("oracle"), "counters.json")
    env = {"ORACLE_OUT": out, "PYTHONMALLOC": "malloc", "MEMPROF_HOST": mode}
    log = mp.run(argv, preload=[mp.victim("liboracle.so"), *allocator], env=env).logs.one()
    mp.whole(log)
    with open(out, encoding="utf-8") as f:
        return log, json.load(f)


def exactly(argv, min_bytes=LARGE, mode="large"):
    """Checks that each block of at least `least` usable bytes is recorded, and that the sums of the others agree."""
    log, oracle = over_the_oracle(mode, argv)
    usable = [tuple(b) for b in oracle["usable"]]
    mp.equal(sorted(map(tuple, mp.naive_reader(log.path)["live"])), sorted(b for b in usable if b[1] >= min_bytes), "live set")
    heap = log.heap()
    for key in ("allocations", "frees", "failures"):
        mp.equal(heap[key], oracle[key], key)
    mp.equal(heap["end_bytes"], sum(b[1] for b in usable), "live bytes")
    mp.equal(heap["end_blocks"], len(usable), "live blocks")
    rest = [r for r in heap["ranges"] if r["path"] and r["path"][0].startswith("(blocks under ")]
    mp.equal([r["end_bytes"] for r in rest], [sum(b[1] for b in usable if b[1] < min_bytes)], "bytes of the rest")
    mp.check(heap["allocations"] > 1000, f"too little happened to prove anything: {heap['allocations']}")


def test_large_mode_is_exact_for_python():
    exactly([sys.executable, "-c", SCRIPT])


def test_large_mode_is_exact_with_threads():
    exactly([mp.victim("blocks"), "20000"])


def test_large_mode_uses_the_given_size():
    exactly([mp.victim("blocks"), "5000"], min_bytes=65536, mode="large:64K")


def test_large_mode_is_exact_for_a_cxx_program():
    """libstdc++'s operator new and delete call malloc and free."""
    exactly([mp.victim("work_cxx")])


def test_large_mode_works_with_other_allocators():
    for name in ("jemalloc", "tcmalloc"):
        try:
            preload = mp.allocator(name)
        except mp.Skip:
            continue
        result = mp.run([mp.victim("blocks"), "5000"], preload=preload, env={"MEMPROF_HOST": "large"})
        log = result.logs.one()
        mp.whole(log)
        mp.equal(log.json["host_blocks"], "large", name)
        mp.check(0 < log.heap()["frees"] <= log.heap()["allocations"], log.heap())


def test_allocator_without_block_sizes_is_warned_about_once_per_tree():
    preload = [mp.victim("liballocator_without_sizes.so")]
    result = mp.run(["/bin/sh", "-c", "/bin/true; /bin/true"], preload=preload, env={"MEMPROF_HOST": "large"})
    mp.equal(result.err.count(b"liballocator_without_sizes.so has no malloc_usable_size, so every block is recorded"), 1, result.err)


def test_large_mode_records_stacks_of_large_blocks():
    """Blocks of 1 MiB and more have stacks, as in the mode that records every block."""
    log = recorded("large", [sys.executable, "-c", "kept = bytearray(3 << 20)"])
    mp.within(mp.Log(log.path, "--by", "python").range("<module> (<string>:1)")["bytes_at_peak"], 3 << 20, 4 << 20, "bytes")
    paths = mp.Log(log.path, "--by", "stack").ranges()
    mp.check(any("main" in path for path in paths), f"no native stack: {list(paths)}")


def test_large_mode_ignores_blocks_that_a_child_inherits():
    """The child frees blocks that its parent made. Its log has none of these."""
    logs = mp.run([mp.victim("blocks"), "3000", "fork"], env={"MEMPROF_HOST": "large"}).logs
    mp.equal(len(logs.paths()), 2, "logs")
    for log in logs.all():
        mp.check(log.exit == 0 and log.json["complete"], f"{log.path} is not complete")
        mp.equal(log.json["missed_frees"] + log.json["unmatched_frees"], 0, "frees")
        live = mp.naive_reader(log.path)["live"]
        mp.check(all(size >= LARGE for _, size in live), "a small block is recorded")


def test_large_mode_loses_no_block_of_a_killed_process():
    """All recorded blocks are in the journal. Totals are as of their last update."""
    log = mp.run([mp.victim("blocks"), "20000", "kill"], env={"MEMPROF_HOST": "large"}, status=-9).logs.one()
    mp.equal(log.exit, 0, "exit code")
    mp.nothing_missing(log)
    mp.check(log.heap()["allocations"] > 1000, f"{log.heap()['allocations']} allocations")


# ---- a sample of the blocks

def chance(size, mean):
    """Returns the probability that a block of this size is sampled."""
    return -math.expm1(-size / mean)


def sampled_exactly(argv, mean, period, sigmas=6, allocator=()):
    """Checks that each block of at least 4.6 periods is recorded, that the sample of the smaller ones is exact as a set and
        without bias, and that the heap's sums are its estimates."""
    log, oracle = over_the_oracle(f"sample:{period}", argv, allocator)
    truth = {addr: size for addr, size in oracle["live"]}
    live = {addr: size for addr, size in mp.naive_reader(log.path)["live"]}
    large = log.json["host_large_bytes"]
    mp.equal(log.json["host_mean_bytes"], mean, "mean")
    mp.equal(log.json["host_sums"], "estimated", "sums")
    mp.equal([b for b in live.items() if truth.get(b[0]) != b[1]], [], "blocks that are not there")
    mp.equal([b for b in truth.items() if b[1] >= large and b[0] not in live], [], "large blocks that are not recorded")
    heap = log.heap()
    weight = [size if size >= large else size / chance(size, mean) for size in live.values()]
    variance = sum(w * w * (1 - chance(w_size, mean)) for w, w_size in zip(weight, live.values()) if w_size < large)
    mp.within(heap["end_bytes"], sum(weight) - len(weight), sum(weight) + len(weight), "estimated live bytes")
    mp.within(sum(r["end_bytes"] for r in heap["ranges"]), heap["end_bytes"], heap["end_bytes"], "bytes of the lines")
    off = sum(weight) - sum(truth.values())
    mp.check(off * off <= sigmas * sigmas * variance, f"{off} bytes off, a standard error is {math.sqrt(variance)}")
    mp.check(len(truth) > 100 and oracle["allocations"] > 1000, f"too little happened to prove anything: {len(truth)} live blocks")
    return log, sum(size < large for size in live.values()), off * off <= 4 * variance


KEEP = SCRIPT + "\nimport ctypes\nctypes.pythonapi.Py_IncRef(ctypes.py_object(x))"


def test_sample_mode_is_unbiased_for_python():
    _, samples, _ = sampled_exactly([sys.executable, "-c", KEEP], 16384, "16K")
    mp.check(samples > 300, f"{samples} samples")


def test_sample_mode_is_unbiased_with_threads():
    """Threads hand blocks to each other and resize them, some calls of realloc are refused, and addresses are
    reused."""
    for period, mean in (("1K", 1024), ("16K", 16384), ("2", 2)):
        sampled_exactly([mp.victim("blocks"), "20000"], mean, period)


def slow_truth_is_within_two_standard_errors_in_95_of_100_runs():
    """Each run draws another sample. By chance fewer than 88 of 100 are within once in 1,600 times."""
    for argv, mean, period in (([mp.victim("blocks"), "3000"], 4096, "4K"), ([mp.victim("work_cxx")], 4096, "4K")):
        within = sum(sampled_exactly(argv, mean, period)[2] for _ in range(100))
        mp.check(within >= 88, f"{within} of 100 runs of {argv[0]}")


def test_sample_mode_is_unbiased_for_a_cxx_program():
    sampled_exactly([mp.victim("work_cxx")], 4096, "4K")


def others():
    """Returns the other allocators that are installed, as lists of libraries to preload."""
    found = []
    for name in ("jemalloc", "tcmalloc", "mimalloc"):
        try:
            found.append(mp.allocator(name))
        except mp.Skip:
            continue
    if not found:
        raise mp.Skip("no other allocator is installed")
    return found


def test_sample_mode_is_exact_with_other_allocators():
    for allocator in others():
        sampled_exactly([mp.victim("blocks"), "20000"], 4096, "4K", allocator=allocator)
        log = mp.run([mp.victim("blocks"), "20000"], preload=allocator, env={"MEMPROF_HOST": "sample:1K"}).logs.one()
        mp.whole(log)
        mp.equal(log.json["missed_frees"] + log.json["unmatched_frees"], 0, allocator)


def test_sample_mode_has_the_bytes_in_use_of_each_allocator():
    """mimalloc reports committed bytes only."""
    argv = [sys.executable, "-c", "kept = [bytearray(1000) for i in range(50000)]\nimport os\nos._exit(0)"]
    keys = {"libjemalloc": ("jemalloc", "allocated_bytes"), "libmimalloc": ("allocator", "held_bytes")}
    for allocator in [(), *others()]:
        source, key = next((v for name, v in keys.items() if name in "".join(allocator)), ("allocator", "in_use_bytes"))
        env = {"PYTHONMALLOC": "malloc"}
        exact = mp.run(argv, preload=allocator, env=env).logs.one().heap()["peak_bytes"]
        log = mp.run(argv, preload=allocator, env={"MEMPROF_HOST": "sample:4K", **env}).logs.one()
        within = log.json["largest"][source][key]
        mp.within(within, 1 << 20, 1.5 * exact, f"{key} with {allocator}, of {exact}")


def live_estimate(log, mean):
    """Returns the estimated live bytes and their standard error."""
    sizes = [size for _, size in mp.naive_reader(log.path)["live"]]
    weight = [size / chance(size, mean) for size in sizes]
    return sum(weight), math.sqrt(sum(w * w * (1 - chance(size, mean)) for w, size in zip(weight, sizes)))


def test_sample_mode_records_operators_of_each_allocator():
    """The operators call malloc (glibc), or are the allocator's own."""
    for allocator in [(), *others()]:
        exact = mp.run([mp.victim("work_cxx")], preload=allocator).logs.one()
        log = mp.run([mp.victim("work_cxx")], preload=allocator, env={"MEMPROF_HOST": "sample:1K"}).logs.one()
        mp.whole(log)
        mp.equal(log.json["missed_frees"] + log.json["unmatched_frees"], 0, allocator)
        estimate, error = live_estimate(log, 1024)
        mp.within(exact.heap()["end_bytes"], estimate - 6 * error, estimate + 6 * error, f"live bytes with {allocator}")
        mp.within(error, 0, estimate / 20, "standard error")


def test_sample_mode_ignores_blocks_that_a_child_inherits():
    """The child does not know its parent's samples. Its frees of such blocks are counted, and its log has its own
    samples."""
    logs = mp.run([mp.victim("blocks"), "3000", "fork"], env={"MEMPROF_HOST": "sample:1K"}).logs
    mp.equal(len(logs.paths()), 2, "logs")
    for log in logs.all():
        mp.check(log.exit == 0 and log.json["complete"], f"{log.path} is not complete")
        mp.equal(log.json["missed_frees"] + log.json["unmatched_frees"], 0, "frees")
        mp.check(mp.naive_reader(log.path)["allocations"] > 100, "samples")


def test_sample_mode_loses_no_event_of_a_killed_process():
    log = mp.run([mp.victim("blocks"), "20000", "kill"], env={"MEMPROF_HOST": "sample:4K"}, status=-9).logs.one()
    mp.equal(log.exit, 0, "exit code")
    mp.nothing_missing(log)
    mp.equal(log.json["missed_frees"] + log.json["unmatched_frees"], 0, "frees")


def test_sample_mode_records_stacks_of_sampled_blocks():
    """A leak of small blocks is found, and the estimate of its bytes is right within the reported error."""
    script = "import ctypes, os\nkept = []\nfor i in range(20000): kept.append(ctypes.create_string_buffer(1000))\nos._exit(0)"
    env = {"PYTHONMALLOC": "malloc"}
    log = recorded("sample:64K", [sys.executable, "-c", script], **env)
    row = next(r for path, r in mp.Log(log.path, "--by", "python").ranges().items() if "<module> (<string>:3)" in path)
    mp.check(row["estimated"], row)
    mp.within(row["bytes_at_peak"], 20000 * 1000 - 6 * row["error_bytes"], 20000 * 1200 + 6 * row["error_bytes"], "bytes")
    mp.within(row["error_bytes"], 100000, 4000000, "standard error")
    paths = mp.Log(log.path, "--by", "stack").ranges()
    mp.check(any("main" in path for path in paths), f"no native stack: {list(paths)}")
    none = recorded("sample:64K", [sys.executable, "-c", script], MEMPROF_STACKS="off", **env)
    mp.check(not any("main" in path for path in mp.Log(none.path, "--by", "stack").ranges()), "a native stack")


def test_sample_mode_records_few_events_by_default():
    """The default period is 512 KiB."""
    log = recorded("sample", [mp.victim("work"), "3000"])
    mp.equal(log.json["host_mean_bytes"], 512 << 10, "mean")
    mp.equal(log.json["host_large_bytes"], 2411725, "from which each is recorded")
    exact = recorded("all", [mp.victim("work"), "3000"])
    mp.check(exact.heap()["allocations"] > 1000, exact.heap())
    mp.check(mp.naive_reader(log.path)["allocations"] < exact.heap()["allocations"] / 10, "samples")


def test_off_mode_records_no_malloc_block():
    log = recorded("off", [mp.victim("blocks"), "5000"])
    mp.whole(log)
    mp.equal(log.json["host_blocks"], "off", "which blocks")
    mp.equal([h["heap"] for h in log.json["heaps"] if h["heap"] == "host/heap"], [], "heaps")
    mp.equal(mp.naive_reader(log.path)["allocations"], 0, "allocations")


def test_off_mode_records_mappings():
    script = "import mmap, os\nm = mmap.mmap(-1, 5 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)"
    log = recorded("off", [sys.executable, "-c", script])
    mp.check(log.heap("host/mmap")["peak_bytes"] >= 5 << 20, log.heap("host/mmap"))


def test_off_mode_leaves_a_complete_log_of_a_killed_process():
    """A large block starts the encoder, even if it is not recorded."""
    log = mp.run([mp.victim("blocks"), "2000", "kill"], env={"MEMPROF_HOST": "off"}, status=-9).logs.one()
    mp.nothing_missing(log)
    mp.equal(mp.naive_reader(log.path)["allocations"], 0, "allocations")


def test_off_mode_starts_the_encoder_for_a_large_block():
    for mode in ("off", "large", "sample"):
        result = mp.run([mp.victim("blocks"), "0", "large"], env={"MEMPROF_HOST": mode})
        mp.equal(result.out, b"2\n", f"the encoder and the worker with {mode}")


def test_every_block_is_recorded_by_default():
    for mode in ("all", ""):
        log = recorded(mode, [mp.victim("work"), "3000"])
        mp.check("host_blocks" not in log.json, log.json)
        mp.check(log.heap()["allocations"] > 1000, "blocks")


def test_invalid_host_modes_are_warned_about():
    for mode in ("few", "large:", "large:0", "large:4X", "sample:", "sample:0", "sampled", "off:1", "all:2"):
        result = mp.run([mp.victim("work"), "10"], env={"MEMPROF_HOST": mode})
        mp.check(f"memprof: invalid MEMPROF_HOST '{mode}': expected all, sample".encode() in result.err, f"{mode}: {result.err}")
        mp.check("host_blocks" not in result.logs.one().json, mode)


if __name__ == "__main__":
    mp.main()
