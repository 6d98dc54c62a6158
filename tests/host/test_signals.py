"""Signals that interrupt the hooks, and whose they are."""
import mp


def storm(blocks):
    """Both the program's blocks and the handler's mappings are all there, each in its range."""
    result = mp.run([mp.victim("signals"), "storm", str(blocks)])
    handled, log = int(result.out), result.logs.one()
    mp.whole(log)
    mp.check(handled > 100, f"the timer came only {handled} times")
    mp.equal(sum(r["allocations"] for p, r in log.ranges().items() if p == "blocks"), blocks, "the program's blocks")
    mapped = log.heap("host/mmap")
    mp.equal((mapped["allocations"], mapped["end_bytes"]), (handled, 0), "the handler's mappings")
    mp.equal(set(p for p, r in log.ranges("host/mmap").items() if r["allocations"]) - {"handler", "blocks > handler"}, set(), "ranges")


def test_handlers_interrupt_hooks():
    storm(2000000)


def slow_handlers_interrupt_hooks():
    storm(50000000)


def test_signals_come_to_the_program_and_not_to_the_encoder():
    result = mp.run([mp.victim("signals"), "aim"])
    mp.equal(result.out, b"1000 of 1000\n", "signals in the main thread")
    mp.whole(result.logs.one())


def test_no_call_is_interrupted_by_memprof():
    result = mp.run([mp.victim("signals"), "eintr"])
    mp.equal(result.out, b"1\n", "read")


def test_change_of_user_id_reaches_all_threads():
    """The C library sends a signal of its own to every thread and waits for each: memprof's may not block it,
    be the encoder the process's first thread, where the C library sees to that, or not."""
    for after in ([], ["first-thread"]):
        result = mp.run([mp.victim("signals"), "setxid", *after])
        mp.equal(result.out, b"0\n", "setuid")


if __name__ == "__main__":
    mp.main()
