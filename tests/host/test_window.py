"""MEMPROF_WINDOW records small blocks only if they are allocated while a window is open, until they are freed. All sums
stay exact."""
import json
import os

import mp

LARGE = 4096


def over_the_oracle(window, argv):
    """Returns the program's log, whose sums must be those of the calls that reached the allocator, and the program's
    output."""
    out = os.path.join(mp.fresh("oracle"), "counters.json")
    result = mp.run(argv, preload=[mp.victim("liboracle.so")], env={"ORACLE_OUT": out, "MEMPROF_WINDOW": window})
    with open(out, encoding="utf-8") as f:
        oracle = json.load(f)
    log = result.logs.one()
    mp.whole(log)
    blocks = dict(tuple(b) for b in oracle["usable"])
    heap = log.heap()
    for key in ("allocations", "frees", "failures"):
        mp.equal(heap[key], oracle[key], key)
    mp.equal(heap["end_bytes"], sum(blocks.values()), "live bytes")
    mp.equal(heap["end_blocks"], len(blocks), "live blocks")
    live = dict(tuple(b) for b in mp.naive_reader(log.path)["live"])
    mp.equal([b for b in live.items() if blocks.get(b[0]) != b[1]], [], "blocks that are not there")
    mp.equal([b for b in blocks.items() if b[1] >= LARGE and b[0] not in live], [], "large blocks that are not recorded")
    return log, {addr for addr, size in live.items() if size < LARGE}, result


def steps(window, is_inside):
    """Exactly those blocks of the program are recorded that were allocated or resized last in a window."""
    log, small, result = over_the_oracle(window, [mp.victim("windows"), "steps", "6"])
    made = [tuple(map(int, line.split())) for line in result.out.splitlines()]
    mp.check(len(made) > 100, f"{len(made)} blocks")
    wanted = {addr for addr, when in made if is_inside(when)}
    mp.equal(sorted(small & {addr for addr, _ in made}), sorted(wanted), "small blocks on record")
    return log


def test_window_opens_at_each_instance_of_a_range():
    steps("range:step", lambda when: when % 2 == 0)


def test_window_opens_at_one_instance_of_a_range():
    steps("range:step:6", lambda when: when == 12)


def test_window_spans_from_one_instance_to_another():
    steps("range:step:2:4", lambda when: 4 <= when <= 8)


def test_window_of_a_range_that_never_starts_stays_closed():
    steps("range:stop", lambda when: False)


def test_window_with_a_duration_opens_at_the_start():
    steps("duration:1h", lambda when: True)


def test_window_stays_closed_during_its_delay():
    steps("delay:1h", lambda when: False)


def test_forked_child_starts_outside_the_capture_window():
    logs = mp.run([mp.victim("windows"), "steps", "3", "fork"], env={"MEMPROF_WINDOW": "range:step"}).logs
    child = next(log for log in logs.all() if log.process["parent_log"])
    mp.check(child.exit == 0 and child.json["complete"], "not complete")
    mp.equal(child.json["missed_frees"] + child.json["unmatched_frees"], 0, "frees")
    mp.equal([size for _, size in mp.naive_reader(child.path)["live"] if size < LARGE], [], "small blocks")


def test_window_toggled_by_signals_keeps_sums_exact():
    """Threads allocate, resize and free blocks while windows open and close."""
    log, _, _ = over_the_oracle("signal:USR2", [mp.victim("windows"), "signals", "501"])
    mp.check(log.heap()["allocations"] > 100000, f"too little happened to prove anything: {log.heap()['allocations']}")


def test_window_with_a_delay_skips_the_first_second():
    """No small block is recorded in the first second."""
    log = mp.run([mp.victim("windows"), "clock"], env={"MEMPROF_WINDOW": "delay:1s"}).logs.one()
    path = log.path
    mp.equal(mp.Log(path, "--at", "0.9s").range("clock")["bytes_at_peak"], 0, "bytes on record before")
    mp.check(log.at_end().range("clock")["bytes_at_peak"] > 0, "nothing is on record at the end")


def test_window_closes_if_the_thread_exits_inside_the_range():
    logs = mp.fresh()
    process = mp.start([mp.victim("windows"), "ends"], logs, env={"MEMPROF_WINDOW": "range:step"})

    def is_closed():
        paths = mp.Logs(logs).paths()
        log = mp.Log(paths[0]).json if paths else {}
        return log.get("window_count") == 1 and log["window_to_ns"] < log["duration_ns"] - 2 * 10**8

    try:
        mp.wait_for(is_closed)
    finally:
        process.kill()
        process.wait()
    log = mp.Logs(logs).one()
    mp.equal(log.at_end().range("step")["blocks_at_peak"], 20, "blocks of the window")
    mp.nothing_missing(log)


def test_window_warns_that_its_signal_is_in_use():
    result = mp.run(["/bin/sh", "-c", "trap '' USR2; exec /bin/true"], env={"MEMPROF_WINDOW": "signal:USR2"})
    mp.equal(result.err.count(b"the signal of MEMPROF_WINDOW=signal:USR2 already has a handler or is ignored"), 1, result.err)


def test_window_warns_about_invalid_values():
    for wrong in ("ranges:step", "range:", "range:step:3:2", "signal:KILL", "delay:5", "delay:1s,for:2s", "delay:1s,"):
        result = mp.run(["/bin/true"], env={"MEMPROF_WINDOW": wrong})
        mp.check(f"invalid MEMPROF_WINDOW '{wrong}': expected profiler, range:NAME".encode() in result.err, (wrong, result.err))


if __name__ == "__main__":
    mp.main()
