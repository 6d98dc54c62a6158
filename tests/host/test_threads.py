"""Threads that end, very many threads, and reused memory of dead threads are recorded exactly."""
import os
import subprocess

import mp
from stacks import report


def test_blocks_of_thread_key_destructors_are_recorded():
    log = mp.run([mp.victim("threads"), "keys"]).logs.one()
    mp.whole(log)
    r = log.at_end().range("destructor")
    mp.equal((r["allocations"], r["blocks_at_peak"], r["bytes_at_peak"]), (4, 2, 200), "blocks")


def short_lives(threads):
    logs = mp.fresh()
    argv = [mp.victim("threads"), "short", str(threads)]
    process = mp.start(argv, logs, start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    mp.equal(process.stdout.readline(), b"done\n", "the victim")
    journal, = mp.Logs(logs).journals()
    size = os.stat(journal).st_blocks * 512
    log = mp.finish(process, argv, logs).logs.one()
    mp.whole(log)
    mp.equal(log.range("thread")["allocations"], 10 * threads, "blocks")
    # with a chunk for each thread it would be 32 KiB times their number
    mp.check(size <= 16 << 20, f"the journal has {size} bytes")


def test_10000_short_threads_reuse_journal_chunks():
    short_lives(10000)


def slow_200000_short_threads_reuse_journal_chunks():
    short_lives(200000)


def test_encoder_starts_whichever_event_fills_the_chunk():
    """A chunk has an even number of slots. If allocations and frees alternate, all allocations are in even or all in
    odd slots."""
    for before in range(2):
        logs = mp.fresh()
        argv = [mp.victim("threads"), "turns", str(before)]
        process = mp.start(argv, logs, start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        mp.equal(process.stdout.readline(), b"done\n", "the victim")
        threads = len(os.listdir(f"/proc/{process.pid}/task"))
        log = mp.finish(process, argv, logs).logs.one()
        mp.check(threads > 1, f"no encoder after {log.json['events']} events")
        mp.whole(log)


def live(threads):
    log = mp.run([mp.victim("threads"), "live", str(threads)]).logs.one()
    mp.whole(log)
    r = log.range("thread")
    mp.equal((r["allocations"], r["own_peak_bytes"]), (threads, 1000 * threads), "blocks")


def test_1000_live_threads_are_recorded():
    live(1000)


def test_more_live_threads_than_journal_chunks_lose_no_event():
    live(2500)


def slow_10000_live_threads_are_recorded():
    live(10000)


def slow_more_threads_than_the_limit_count_lost_events():
    """Threads without a place are counted, the log has the reason, and the program continues."""
    log = mp.run([mp.victim("threads"), "live", "17000"]).logs.one()
    r = log.range("thread")
    mp.check(r["allocations"] + log.json["lost_events"] >= 17000, f"{r['allocations']} blocks, {log.json['lost_events']} lost")
    mp.check("more threads at once" in report(log, "log", "info"), "the reason of the losses")


if __name__ == "__main__":
    mp.main()
