"""Signals that interrupt hooks lose no event, and memprof's threads do not take the program's signals."""
import os
import sys

import mp


def storm(blocks):
    """All blocks of the program and all mappings of the handler are recorded, each in its range."""
    result = mp.run([mp.victim("signals"), "storm", str(blocks)])
    handled, log = int(result.out), result.logs.one()
    mp.whole(log)
    mp.check(handled > 100, f"the timer came only {handled} times")
    mp.equal(sum(r["allocations"] for p, r in log.ranges().items() if p == "blocks"), blocks, "the program's blocks")
    mapped = log.heap("host/mmap")
    mp.equal((mapped["allocations"], mapped["end_bytes"]), (handled, 0), "the handler's mappings")
    mp.equal(set(p for p, r in log.ranges("host/mmap").items() if r["allocations"]) - {"handler", "blocks > handler"}, set(), "ranges")


def test_signal_handlers_that_interrupt_hooks_lose_no_event():
    storm(2000000)


def slow_signal_handlers_that_interrupt_hooks_lose_no_event():
    storm(50000000)


def test_signals_are_delivered_only_to_threads_of_the_program():
    result = mp.run([mp.victim("signals"), "aim"])
    mp.equal(result.out, b"1000 of 1000\n", "signals in the main thread")
    mp.whole(result.logs.one())


def test_memprof_interrupts_no_system_call():
    result = mp.run([mp.victim("signals"), "eintr"])
    mp.equal(result.out, b"1\n", "read")


def test_setuid_takes_effect_in_all_threads():
    """The C library sends a signal to every thread and waits for each. memprof's threads must not block it, whether the encoder is
        the first thread of the process (which makes the C library send these signals) or not."""
    for after in ([], ["first-thread"]):
        result = mp.run([mp.victim("signals"), "setxid", *after])
        mp.equal(result.out, b"0\n", "setuid")


DROPS_RIGHTS = """
import ctypes, glob, os
GET_DUMPABLE, SET_DUMPABLE = 3, 4
prctl = ctypes.CDLL(None).prctl
os.setgroups([4, 20])
large = bytearray(4 << 20)      # starts memprof's encoder
def ids():
    return {" ".join(line.split()[:2]) for path in glob.glob("/proc/self/task/*/status") for line in open(path) if line.startswith(("Uid:", "Groups:"))}
os.setgroups([])
while ids() != {"Uid: 0", "Groups:"}: pass
os.setgid(60123); os.setuid(60123)
prctl(SET_DUMPABLE, 1)
while ids() != {"Uid: 60123", "Groups:"}: pass
print("all threads", prctl(GET_DUMPABLE))
more = [bytearray(600) for _ in range(100000)]
"""


def test_memprof_threads_drop_rights_with_the_program():
    if os.getuid() != 0:
        raise mp.Skip("only root has rights to give up")
    result = mp.run([sys.executable, "-c", DROPS_RIGHTS])
    mp.equal(result.out, b"all threads 1\n", "threads with the new user and groups, and the dumpable flag that the program has set")
    mp.whole(result.logs.one())


PINNED = """
import glob, os, threading
all_of_them = os.sched_getaffinity(0)
os.sched_setaffinity(0, {min(all_of_them)})
large = bytearray(4 << 20)      # starts memprof's encoder
def memprofs():
    return {int(path.split("/")[4]) for path in glob.glob("/proc/self/task/*/comm") if open(path).read() == "memprof\\n"}
while len(memprofs()) < 2 or any(os.sched_getaffinity(tid) != all_of_them for tid in memprofs()): pass
print("all processors")
"""


def test_memprof_threads_ignore_the_cpu_affinity_of_the_program():
    if len(os.sched_getaffinity(0)) < 2:
        raise mp.Skip("one processor")
    mp.equal(mp.run([sys.executable, "-c", PINNED]).out, b"all processors\n", "processors of memprof's threads")


if __name__ == "__main__":
    mp.main()
