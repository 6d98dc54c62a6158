"""A C++ program has the same bytes in its log with every allocator."""
import mp

# row: allocations, frees, failures, bytes at the end
ROWS = {
    "new": (1, 0, 0, 1000), "new_array": (1, 0, 0, 1000), "new_nothrow": (1, 0, 0, 1000), "new_array_nothrow": (1, 0, 0, 1000),
    "new_aligned": (1, 0, 0, 1000), "new_array_aligned": (1, 0, 0, 1000),
    "new_aligned_nothrow": (1, 0, 0, 1000), "new_array_aligned_nothrow": (1, 0, 0, 1000), "new_object": (1, 0, 0, 256),
    "delete": (1, 1, 0, 0), "delete_array": (1, 1, 0, 0), "delete_sized": (1, 1, 0, 0), "delete_array_sized": (1, 1, 0, 0),
    "delete_nothrow": (1, 1, 0, 0), "delete_array_nothrow": (1, 1, 0, 0),
    "delete_aligned": (1, 1, 0, 0), "delete_array_aligned": (1, 1, 0, 0),
    "delete_sized_aligned": (1, 1, 0, 0), "delete_array_sized_aligned": (1, 1, 0, 0),
    "delete_aligned_nothrow": (1, 1, 0, 0), "delete_array_aligned_nothrow": (1, 1, 0, 0), "delete_null": (0, 0, 0, 0),
}


def heap(row, libraries):
    log = mp.run([mp.victim("table_cxx"), row], preload=libraries).logs.one()
    mp.whole(log)
    return log.heap()


def table(allocator):
    libraries = mp.allocator(allocator)
    nothing = heap("nothing", libraries)

    def added(row):
        h = heap(row, libraries)
        return tuple(h[k] - nothing[k] for k in ("allocations", "frees", "failures", "end_bytes"))

    for row, expected in ROWS.items():
        mp.equal(added(row), expected, f"{row} over {allocator}")
    for row in ("containers", "new_nothrow_fails", "new_throws"):
        if row == "new_throws" and mp.bare([mp.victim("table_cxx"), row], env={"LD_PRELOAD": " ".join(libraries)})[0] != 0:
            continue        # mimalloc is C: it cannot throw, and aborts
        allocations, frees, failed, size = added(row)
        mp.equal((allocations - frees, size), (0, 0), f"{row} over {allocator}: what is left")
        if row != "new_throws" or allocator == "glibc":     # an allocator's own exception leaves memprof's hook without
                                                            # an event
            mp.equal(failed, int(row != "containers"), f"{row} over {allocator}: failures")


def test_cxx_operators_are_recorded_with_glibc():
    table("glibc")


def test_cxx_operators_are_recorded_with_jemalloc():
    table("jemalloc")


def test_cxx_operators_are_recorded_with_tcmalloc():
    table("tcmalloc")


def test_cxx_operators_are_recorded_with_mimalloc():
    table("mimalloc")


def work(libraries):
    """Returns bytes and blocks by range at the peak and at the end, and the heap's own figures minus those of a program that does
        nothing: tcmalloc makes two blocks for itself, with the operator new that it serves."""
    nothing = heap("nothing", libraries)
    log = mp.run([mp.victim("work_cxx")], preload=libraries).logs.one()
    mp.whole(log)
    h = log.heap()

    def by_range(at, *keys):
        return {path: tuple(r[k] for k in keys) for path, r in at.ranges().items() if path}

    return {
        "heap": {k: h[k] - nothing[k] for k in ("allocations", "frees", "failures", "peak_bytes", "blocks_at_peak", "end_bytes")},
        "peak": by_range(log, "bytes_at_peak", "blocks_at_peak", "allocations"),
        "end": by_range(log.at_end(), "bytes_at_peak", "blocks_at_peak"),
    }


def same_over(allocator):
    expected, got = work(()), work(mp.allocator(allocator))
    mp.equal(sorted(expected["peak"]), ["index", "load", "load > scratch"], "ranges")
    for part, figures in expected.items():
        mp.equal(got[part], figures, f"{part} over {allocator}")


def test_totals_are_the_same_with_jemalloc():
    same_over("jemalloc")


def test_totals_are_the_same_with_tcmalloc():
    same_over("tcmalloc")


def test_totals_are_the_same_with_mimalloc():
    same_over("mimalloc")


def test_cxx_library_opened_with_rtld_local_is_recorded():
    for allocator in ("glibc", "jemalloc"):
        log = mp.run([mp.victim("loader"), "plugin", mp.victim("libplugin_cxx.so")], preload=mp.allocator(allocator)).logs.one()
        mp.whole(log)
        r = log.at_end().range("plugin")
        mp.equal((r["bytes_at_peak"], r["blocks_at_peak"]), (100 * 1000 + 100 * 8 + 24, 102), f"live over {allocator}")


def test_cxx_operators_that_call_a_private_malloc_are_recorded():
    """Only the hooks of the operators see their blocks here."""
    log = mp.run([mp.victim("loader"), "deep", mp.victim("libplugin_cxx.so")]).logs.one()
    r = log.at_end().range("plugin")
    mp.equal((r["bytes_at_peak"], r["blocks_at_peak"]), (100 * 1000 + 100 * 8 + 24, 102), "live")


def test_operator_lookup_keeps_the_pending_dlerror_of_the_program():
    log = mp.run([mp.victim("pending_error")]).logs.one()
    mp.whole(log)
    mp.equal(log.json["order_repairs"], 0, "blocks that took the place of one that was not freed")


if __name__ == "__main__":
    mp.main()
