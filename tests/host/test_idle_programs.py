"""Events before and after an idle period have different times."""
import os
import sqlite3
import subprocess

import mp


def select(log, sql):
    """Returns rows of the exported tables of a log."""
    path = os.path.join(mp.fresh("tables"), "log.db")
    subprocess.run([os.environ["MEMPROF_REPORT"], "export", "--to", "sqlite", "-o", path, log.path], check=True, stdout=subprocess.DEVNULL)
    with sqlite3.connect(path) as db:
        return db.execute(sql).fetchall()


def test_lifetime_of_a_large_block_includes_idle_time():
    """A free after a pause has a later time than the allocation, although no event in between has a time."""
    log = mp.run([mp.victim("idle_periods"), "lives"]).logs.one()
    lifetimes = [ns for ns, in select(log, "select freed_ns - made_ns from blocks where bytes >= 1 << 20")]
    mp.equal(len(lifetimes), 30, "blocks")
    mp.check(sorted(lifetimes)[10] >= 29 * 10**6, f"lives of {sorted(lifetimes)} ns")


def test_rss_samples_have_the_time_of_measurement():
    """Time also advances if nothing is recorded for a long time."""
    log = mp.run([mp.victim("idle_periods"), "touch"]).logs.one()
    times = [ns for ns, in select(log, "select time_ns from samples_rss order by time_ns")]
    apart = sum(b - a >= 50 * 10**6 for a, b in zip(times, times[1:]))
    mp.check(apart >= 5, f"samples at {times} ns")


def test_memory_made_writable_by_mprotect_has_a_call_stack():
    log = mp.run([mp.victim("idle_periods"), "protect"]).logs.one()
    by_stack = mp.Log(log.path, "--by", "stack").ranges("host/mmap")
    named = [path for path, r in by_stack.items() if "protect" in path and r["bytes_at_peak"] == 30 << 20]
    mp.check(named, f"call stacks: {list(by_stack)}")


if __name__ == "__main__":
    mp.main()
