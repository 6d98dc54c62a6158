"""Moved blocks, blocks handed between threads, early constructors, and blocks over 4 GiB are counted exactly."""
import sys

import mp


def test_moving_realloc_leaves_no_phantom_leak():
    """A tool that records realloc in the wrong order shows a leak here that does not exist."""
    log = mp.run([mp.victim("table"), "realloc_moves"]).logs.one()
    mp.whole(log)
    bare = mp.run([mp.victim("table"), "nothing"]).logs.one()
    mp.equal(log.heap()["end_bytes"], bare.heap()["end_bytes"], "live bytes")
    mp.equal(log.live_blocks(), bare.live_blocks(), "live blocks")


def test_failed_realloc_keeps_the_block_and_its_size():
    log = mp.run([mp.victim("table"), "realloc_fails"]).logs.one()
    bare = mp.run([mp.victim("table"), "nothing"]).logs.one()
    mp.equal(log.heap()["end_bytes"] - bare.heap()["end_bytes"], 100, "live bytes")
    mp.equal(log.heap()["failures"], 1, "failures")


ONE_ARENA = {"MALLOC_ARENA_MAX": "1", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0"}


def handed_over(exchanges, preload=(), env=ONE_ARENA):
    """Checks that the live memory at the end is the same as that of threads that exchange no blocks."""
    quiet, busy = (mp.run([mp.victim("handover"), str(n)], preload=preload, env=env).logs.one() for n in (0, exchanges))
    mp.whole(busy)
    for key, added in (("allocations", exchanges), ("frees", exchanges), ("end_bytes", 0)):
        mp.equal(busy.heap()[key] - quiet.heap()[key], added, key)


def test_handed_over_blocks_leave_no_phantom_leak():
    handed_over(800000)


def slow_handed_over_blocks_leave_no_phantom_leak_with_glibc():
    """10^8 events, as with the other allocators. All threads share one lock, so more cores take longer, with and without
        memprof."""
    handed_over(50000000)


def slow_handed_over_blocks_leave_no_phantom_leak_with_jemalloc():
    handed_over(50000000, mp.allocator("jemalloc"))


def slow_handed_over_blocks_leave_no_phantom_leak_with_tcmalloc():
    handed_over(50000000, mp.allocator("tcmalloc"))


def slow_handed_over_blocks_leave_no_phantom_leak_with_mimalloc():
    handed_over(50000000, mp.allocator("mimalloc"))


def slow_more_than_2_billion_blocks_are_counted():
    blocks = (1 << 31) + 11
    none, all_ = (mp.run([mp.victim("many_blocks"), str(n)]).logs.one() for n in (0, blocks))
    mp.whole(all_)
    for key, added in (("allocations", blocks), ("frees", blocks), ("end_bytes", 0)):
        mp.equal(all_.heap()[key] - none.heap()[key], added, key)


def test_constructor_blocks_are_recorded_and_late_blocks_do_no_harm():
    """All of the constructor's blocks are recorded. Calls after the end of the log have no effect."""
    early = mp.victim("libearly_constructor.so")
    with_it, without = (mp.run([mp.victim("table"), "nothing"], preload=p).logs.one() for p in ((early,), ()))
    mp.whole(with_it)
    for key, added in (("allocations", 64), ("frees", 32), ("end_bytes", 32 * 1024)):
        mp.equal(with_it.heap()[key] - without.heap()[key], added, key)


def test_blocks_over_4_gib_are_counted():
    # glibc gives such a block its own mapping, which uses only addresses
    code = ("import ctypes as c; l = c.CDLL(None); l.malloc.restype = c.c_void_p; l.malloc.argtypes = [c.c_size_t];"
            "l.free.argtypes = [c.c_void_p]; p = [l.malloc(5 << 30), l.malloc((5 << 30) + 1)]; l.free(p[0]); print(None not in p)")
    result = mp.run([sys.executable, "-S", "-c", code])
    if result.out.strip() != b"True":
        raise mp.Skip("the machine does not overcommit memory")
    log = result.logs.one()
    mp.whole(log)
    mp.within(log.heap()["peak_bytes"], (10 << 30) + 1, (10 << 30) + (64 << 20), "peak")
    mp.within(log.heap()["end_bytes"], (5 << 30) + 1, (5 << 30) + (64 << 20), "end")


def test_refused_malloc_of_4_eib_counts_as_a_failure():
    code = "import ctypes as c; l = c.CDLL(None); l.malloc.restype = c.c_void_p; print(l.malloc(c.c_size_t(1 << 62)))"
    result = mp.run([sys.executable, "-S", "-c", code])
    mp.equal(result.out.strip(), b"None", "malloc")
    mp.equal(result.logs.one().heap()["failures"], 1, "failures")


if __name__ == "__main__":
    mp.main()
