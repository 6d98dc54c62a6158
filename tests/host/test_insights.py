"""What `memprof-report insights` finds in programs that ran."""
import json
import os
import subprocess

import mp

FREED = 2000 * (64 << 10)       # bytes: retains.c


def kept(**environment):
    path = mp.run([mp.victim("retains")], env=environment).logs.one().path
    report = subprocess.run([os.environ["MEMPROF_REPORT"], "insights", "--format", "json", path], stdout=subprocess.PIPE, timeout=mp.TIMEOUT, text=True, check=True)
    return [f for f in json.loads(report.stdout)["findings"] if f["finding"] == "retention"]


def test_pages_that_malloc_keeps_are_found():
    """Blocks below one that lives were freed: glibc keeps their pages, which nothing holds any more."""
    found = kept(GLIBC_TUNABLES="glibc.malloc.mmap_threshold=1048576")
    mp.equal(len(found), 1, "findings of kept pages")
    numbers = found[0]["numbers"]
    mp.check(FREED * 0.9 < numbers["kept_bytes"] <= FREED and numbers["fallen_bytes"] >= FREED, found)
    mp.check(numbers["live_bytes"] < FREED / 10 and "malloc_trim(0)" in found[0]["change"], found)


def test_pages_that_malloc_gives_back_are_no_finding():
    """The same blocks, each in a mapping of its own."""
    mp.equal(kept(GLIBC_TUNABLES="glibc.malloc.mmap_threshold=4096"), [], "what is given back")
