"""MEMPROF_HOST: not every block of malloc is recorded.  What is, and the totals of the rest, against exact books."""
import json
import os
import sys

import mp

LARGE = 4096
SMALL = "(blocks under 4.00 KiB)"
SCRIPT = "import json, random\nrandom.seed(1)\nx = [json.loads(json.dumps(['y' * random.randrange(9000), i])) for i in range(3000)]"


def recorded(mode, argv, **env):
    return mp.run(argv, env={"MEMPROF_HOST": mode, **env}).logs.one()


def over_the_oracle(mode, argv):
    """The log of the program, and the books of the calls that reached the allocator."""
    out = os.path.join(mp.fresh("oracle"), "books.json")
    env = {"ORACLE_OUT": out, "PYTHONMALLOC": "malloc", "MEMPROF_HOST": mode}
    log = mp.run(argv, preload=[mp.victim("liboracle.so")], env=env).logs.one()
    mp.whole(log)
    with open(out, encoding="utf-8") as f:
        return log, json.load(f)


def exactly(argv, least=LARGE, mode="large"):
    """Blocks from `least` usable bytes on are recorded, each; of the others the sums agree."""
    log, oracle = over_the_oracle(mode, argv)
    usable = [tuple(b) for b in oracle["usable"]]
    mp.equal(sorted(map(tuple, mp.books(log.path)["live"])), sorted(b for b in usable if b[1] >= least), "live set")
    heap = log.heap()
    for key in ("allocations", "frees", "failures"):
        mp.equal(heap[key], oracle[key], key)
    mp.equal(heap["end_bytes"], sum(b[1] for b in usable), "live bytes")
    mp.equal(heap["end_blocks"], len(usable), "live blocks")
    rest = [r for r in heap["ranges"] if r["path"] and r["path"][0].startswith("(blocks under ")]
    mp.equal([r["end_bytes"] for r in rest], [sum(b[1] for b in usable if b[1] < least)], "bytes of the rest")
    mp.check(heap["allocations"] > 1000, f"too little happened to prove anything: {heap['allocations']}")


def test_large_python():
    exactly([sys.executable, "-c", SCRIPT])


def test_large_threads():
    exactly([mp.victim("blocks"), "20000"])


def test_large_of_another_size():
    exactly([mp.victim("blocks"), "5000"], least=65536, mode="large:64K")


def test_large_cxx():
    """operator new and delete of libstdc++ come by malloc and free."""
    exactly([mp.victim("work_cxx")])


def test_large_with_other_allocators():
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


def test_an_allocator_without_sizes_is_named_once_in_a_tree():
    preload = [mp.victim("libsizeless.so")]
    result = mp.run(["/bin/sh", "-c", "/bin/true; /bin/true"], preload=preload, env={"MEMPROF_HOST": "large"})
    mp.equal(result.err.count(b"libsizeless.so has no malloc_usable_size: every block is recorded"), 1, result.err)


def test_large_blocks_have_stacks():
    """Those of 1 MiB and more, as where every block is recorded."""
    log = recorded("large", [sys.executable, "-c", "kept = bytearray(3 << 20)"])
    mp.within(mp.Log(log.path, "--by", "python").range("<module> (<string>:1)")["bytes_at_peak"], 3 << 20, 4 << 20, "bytes")
    paths = mp.Log(log.path, "--by", "stack").ranges()
    mp.check(any("main" in path for path in paths), f"no native stack: {list(paths)}")


def test_large_of_a_child():
    """It frees blocks that its parent made; its own log has none of these."""
    logs = mp.run([mp.victim("blocks"), "3000", "fork"], env={"MEMPROF_HOST": "large"}).logs
    mp.equal(len(logs.paths()), 2, "logs")
    for log in logs.all():
        mp.check(log.exit == 0 and log.json["complete"], f"{log.path} is not complete")
        mp.equal(log.json["missed_frees"] + log.json["unmatched_frees"], 0, "frees")
        live = mp.books(log.path)["live"]
        mp.check(all(size >= LARGE for _, size in live), "a small block is recorded")


def test_large_killed():
    """Blocks are in the journal to the last one; totals are as of the last time that they were noted."""
    log = mp.run([mp.victim("blocks"), "20000", "kill"], env={"MEMPROF_HOST": "large"}, status=-9).logs.one()
    mp.equal(log.exit, 0, "exit code")
    mp.nothing_missing(log)
    mp.check(log.heap()["allocations"] > 1000, f"{log.heap()['allocations']} allocations")


def test_off():
    log = recorded("off", [mp.victim("blocks"), "5000"])
    mp.whole(log)
    mp.equal(log.json["host_blocks"], "off", "which blocks")
    mp.equal([h["heap"] for h in log.json["heaps"] if h["heap"] == "host/heap"], [], "heaps")
    mp.equal(mp.books(log.path)["allocations"], 0, "allocations")


def test_off_has_all_else():
    script = "import mmap, os\nm = mmap.mmap(-1, 5 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)"
    log = recorded("off", [sys.executable, "-c", script])
    mp.check(log.heap("host/mmap")["peak_bytes"] >= 5 << 20, log.heap("host/mmap"))


def test_off_of_a_killed_process():
    """Its encoder is started by a large block, whether that is recorded or not."""
    log = mp.run([mp.victim("blocks"), "2000", "kill"], env={"MEMPROF_HOST": "off"}, status=-9).logs.one()
    mp.nothing_missing(log)
    mp.equal(mp.books(log.path)["allocations"], 0, "allocations")


def test_all_is_the_default():
    for mode in ("all", ""):
        log = recorded(mode, [mp.victim("work"), "3000"])
        mp.check("host_blocks" not in log.json, log.json)
        mp.check(log.heap()["allocations"] > 1000, "blocks")


def test_wrong_modes_cost_a_line():
    for mode in ("few", "large:", "large:0", "large:4X", "off:1", "all:2"):
        result = mp.run([mp.victim("work"), "10"], env={"MEMPROF_HOST": mode})
        mp.check(f"memprof: MEMPROF_HOST={mode} is not understood".encode() in result.err, f"{mode}: {result.err}")
        mp.check("host_blocks" not in result.logs.one().json, mode)


if __name__ == "__main__":
    mp.main()
