"""Each hooked function adds exactly its own bytes and calls to the log."""
import subprocess

import mp

MIB = 1 << 20
# row: allocations, frees, failures, bytes at the end; None: the victim prints it
HEAP = {
    "malloc": (2, 1, 0, 1000), "malloc_0": (2, 1, 0, 0), "malloc_fails": (0, 0, 1, 0),
    "calloc": (2, 1, 0, 1000), "calloc_overflow": (0, 0, 1, 0),
    "realloc_null": (1, 0, 0, 300), "realloc_grow": (2, 1, 0, 5000), "realloc_shrink": (2, 1, 0, 100),
    "realloc_zero": (1, 1, 0, 0), "realloc_fails": (1, 0, 1, 100), "realloc_moves": (37, 37, 0, 0),
    "reallocarray": (2, 1, 0, 1000), "reallocarray_overflow": (1, 0, 1, 100),
    "free_null": (0, 0, 0, 0), "cfree": (1, 1, 0, 0),
    "memalign": (2, 1, 0, 1000), "aligned_alloc": (2, 1, 0, 8192),
    "posix_memalign": (1, 0, 0, 1000), "posix_memalign_fails": (0, 0, 1, 0),
    "valloc": (1, 0, 0, 1000), "pvalloc": (1, 0, 0, 1000),
    "free_sized": (1, 1, 0, 0), "free_aligned_sized": (1, 1, 0, 0),
    "strdup": (1, 0, 0, 10), "strndup": (1, 0, 0, 5), "wcsdup": (1, 0, 0, 40),
}
# the C library also allocates: blocks and bytes at the end
LIBC = {"asprintf": (1, None), "getcwd": (1, None), "realpath": (1, None), "getline": (1, None), "open_memstream": (0, 0)}
# row: heap, bytes at the end, at the peak, failures
REGIONS = {
    "mmap": ("host/mmap", MIB, 3 * MIB, 0), "mmap64": ("host/mmap", MIB, MIB, 0),
    "mmap_odd_size": ("host/mmap", MIB + 4096, MIB + 4096, 0),
    "mmap_fails": ("host/mmap", 0, 0, 1), "mmap_none": ("host/mmap", 0, 0, 0), "mmap_read": ("host/mmap", 0, 0, 0),
    "mmap_fixed_over": ("host/mmap", 4 * MIB, 4 * MIB, 0), "mmap_fixed_none": ("host/mmap", 3 * MIB, 4 * MIB, 0),
    "mmap_file_over": ("host/mmap", 4 * MIB - 4096, 4 * MIB, 0),
    "munmap_part": ("host/mmap", 3 * MIB, 4 * MIB, 0), "munmap_two": ("host/mmap", 2 * MIB, 3 * MIB, 0),
    "munmap_fails": ("host/mmap", MIB, MIB, 0),
    "mprotect_rw": ("host/mmap", MIB, MIB, 0), "mprotect_none": ("host/mmap", 3 * MIB, 4 * MIB, 0),
    "mprotect_fails": ("host/mmap", MIB, MIB, 0), "madvise": ("host/mmap", 4 * MIB, 4 * MIB, 0),
    "mremap_grow": ("host/mmap", 3 * MIB, 3 * MIB, 0), "mremap_shrink": ("host/mmap", MIB, 4 * MIB, 0),
    "mremap_fixed": ("host/mmap", 4 * MIB, 5 * MIB, 0), "mremap_fails": ("host/mmap", MIB, MIB, 1),
    "sbrk": ("host/mmap", MIB + 4096, 3 * MIB, 0), "sbrk_fails": ("host/mmap", 0, 0, 1),
    "brk": ("host/mmap", MIB, 3 * MIB, 0), "brk_fails": ("host/mmap", 0, 0, 1),
    "mmap_private_file": ("host/mmap", 0, 0, 0), "mmap_stack": ("host/mmap", MIB, MIB, 0),
    "mmap_shared": ("host/shm", MIB, MIB, 0), "shm_open": ("host/shm", MIB, MIB, 0),
    "memfd": ("host/shm", MIB, 2 * MIB, 0), "mremap_shared": ("host/shm", 2 * MIB, 4 * MIB, 0),
    "shmat": ("host/shm", MIB, MIB, 0), "shmdt": ("host/shm", 0, MIB, 0),
}


def counters(row, heap="host/heap", preload=(), mode="all"):
    result = mp.run([mp.victim("table"), row], preload=preload, env={"MEMPROF_HOST": mode})
    log = result.logs.one()
    mp.whole(log)
    return log.heap(heap), result.out


def added(row, preload=(), mode="all"):
    """Returns what the row adds to the heap, and its output."""
    nothing, _ = counters("nothing", preload=preload, mode=mode)
    h, out = counters(row, preload=preload, mode=mode)
    return {k: h[k] - nothing[k] for k in ("allocations", "frees", "failures", "end_bytes")}, out


def test_allocation_tests_cover_every_row_of_the_table():
    rows = subprocess.run([mp.victim("table")], stdout=subprocess.PIPE, check=True, text=True).stdout.split()
    mp.equal(sorted(rows), sorted(["nothing", *HEAP, *LIBC, *REGIONS]), "rows")


def test_table_of_the_malloc_family_is_exact():
    for row, expected in HEAP.items():
        h, _ = added(row)
        mp.equal(tuple(h[k] for k in ("allocations", "frees", "failures", "end_bytes")), expected, row)


def test_table_of_the_malloc_family_is_exact_in_sample_mode():
    """With a mean of a byte each block of five bytes or more is large, and so recorded."""
    for row, expected in HEAP.items():
        if row == "malloc_0":
            continue
        h, _ = added(row, mode="sample:1")
        mp.equal(tuple(h[k] for k in ("allocations", "frees", "failures", "end_bytes")), expected, row)


def test_sized_frees_that_call_free_are_one_event():
    for row in ("free_sized", "free_aligned_sized"):
        h, _ = added(row, preload=(mp.victim("libsized_free.so"),))
        mp.equal(tuple(h[k] for k in ("allocations", "frees", "failures", "end_bytes")), HEAP[row], row)


def test_table_of_libc_functions_that_allocate_is_exact():
    for row, (blocks, size) in LIBC.items():
        h, out = added(row)
        mp.equal(h["allocations"] - h["frees"], blocks, f"{row}: blocks")
        if out or size is not None:
            mp.equal(h["end_bytes"], size if size is not None else int(out), f"{row}: bytes")


def test_table_of_mappings_and_shared_memory_is_exact():
    for row, (heap, end, peak, failures) in REGIONS.items():
        h, _ = counters(row, heap)
        mp.equal((h["end_bytes"], h["peak_bytes"], h["failures"]), (end, peak, failures), row)
        other = "host/shm" if heap == "host/mmap" else "host/mmap"
        mp.equal(counters(row, other)[0]["peak_bytes"], 0, f"{row}: {other}")


if __name__ == "__main__":
    mp.main()
