"""The pages of malloc that live blocks pin: as the allocator and the kernel count them."""
import json
import os
import subprocess

import mp

KEPT, EACH = (200000 + 63) // 64, 64      # blocks of one thread that stay, and their bytes; see pinned_pages.c


def host(path, *options):
    out = subprocess.run([os.environ["MEMPROF_REPORT"], "segments", "--heap", "host/heap", "--at", "end", "--format", "json", *options, path],
                         stdout=subprocess.PIPE, timeout=mp.TIMEOUT, check=True).stdout
    return json.loads(out)["host"]


def run(threads, allocator="glibc", **environment):
    result = mp.run([mp.victim("pinned_pages"), str(threads)], preload=mp.allocator(allocator), env=environment)
    return json.loads(result.out), result.logs.one().path


def near(bytes_, right, what):
    """Within 3 %, and the blocks that the loader and the allocator allocated before the recording."""
    mp.check(abs(bytes_ - right) <= 0.03 * right + 16384, f"{what}: {bytes_}, not {right}")


def matches_glibc(threads):
    right, path = run(threads, MEMPROF_STACKS="all")
    pages = host(path, "--by", "stack")
    near(pages["pinned_bytes"] + pages["free_page_bytes"], right["free"], "free bytes, as mallinfo2 counts them")
    if not mp.EMULATOR:     # its own memory is in the kernel's figures
        near(pages["free_page_bytes"], right["returned"], "bytes that malloc_trim returns")
        if pages["private_bytes"]:
            mp.check(pages["returned_bytes"] > 0.9 * right["returned"], f"{pages['returned_bytes']} of {right['returned']} are not resident")
    pin = pages["pins"][0]
    mp.equal((pin["blocks"], pin["bytes"]), (threads * KEPT, threads * KEPT * EACH), "blocks that pin most")
    mp.check(pin["pinned_bytes"] > 0.95 * pages["pinned_bytes"], f"they pin {pin['pinned_bytes']} of {pages['pinned_bytes']}")


def test_pinned_pages_of_the_main_heap_are_those_of_mallinfo_and_malloc_trim():
    matches_glibc(1)


def test_pinned_pages_of_arenas_are_those_of_mallinfo_and_malloc_trim():
    matches_glibc(4)


def test_pinned_pages_of_jemalloc_are_its_active_pages():
    right, path = run(4, "jemalloc")
    pages = host(path)
    near(pages["pages"] * pages["page_bytes"], right["active"], "pages in use, as jemalloc counts them")
    near(pages["pinned_bytes"], right["active"] - right["allocated"], "free bytes in these pages")


def test_pinned_pages_are_unknown_from_a_sample_of_the_blocks():
    mp.equal(host(run(1, MEMPROF_HOST="sample")[1]), None, "pages")


if __name__ == "__main__":
    mp.main()
