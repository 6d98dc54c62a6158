"""With MEMPROF_STACKS=all, blocks allocated where a call stack is hard to unwind are recorded as exactly as without
stacks."""
import mp
import stacks

ALL = {"MEMPROF_STACKS": "all"}
PROGRAMS = ("hard_stacks", "hard_stacks_without_tables")
DEPTH = 64          # the largest number of frames of a stack
CUT = ["(stack cut: depth limit)", "(stack cut: no unwind information)", "(stack cut: caller not found)"]
COUNTERS = ("allocations", "frees", "failures", "peak_bytes", "blocks_at_peak", "end_bytes")


def figures(log):
    return {heap: {key: log.heap(heap)[key] for key in COUNTERS} for heap in ("host/heap", "host/mmap")}


def exact(argv):
    """Returns the log with stacks, after checking that its numbers are those of a run without stacks."""
    plain, log = (mp.run(argv, env={"MEMPROF_STACKS": how}).logs.one() for how in ("off", "all"))
    mp.whole(log)
    mp.equal(figures(log), figures(plain), f"{argv}: counters")
    return log


def ends_in(log, path):
    """Returns the bytes of the stacks that end with `path`, the functions next to the allocation."""
    return sum(size for frames, size in stacks.folded(log).items() if frames.endswith(path))


def test_stack_of_100000_calls_is_cut_at_the_depth_limit():
    for program in PROGRAMS:
        log = exact([mp.victim(program), "deep"])
        frames = [[f for f in path.split(";") if f not in CUT] for path in stacks.folded(log)]
        mp.check(max(map(len, frames)) <= DEPTH, f"{program}: {max(map(len, frames))} frames")
    stacks.has_symbols()
    log = mp.run([mp.victim("hard_stacks"), "deep"], env=ALL).logs.one()
    mp.equal(ends_in(log, "dive;dive;keep"), 10 * 99999, "bytes in calls of calls")
    cut = sum(size for path, size in stacks.folded(log).items() if path.startswith(CUT[0]))
    whole = sum(path.startswith("_start;") for path in stacks.folded(log))
    mp.equal(cut + 10 * whole, 10 * 100000, "bytes of stacks that are marked as cut, and of whole ones")


def test_thread_with_the_minimum_stack_is_recorded():
    for program in PROGRAMS:
        log = exact([mp.victim(program), "narrow"])
    stacks.has_symbols()
    log = mp.run([mp.victim("hard_stacks"), "narrow"], env=ALL).logs.one()
    mp.equal(ends_in(log, "in_narrow_thread;keep"), 3 << 20, "bytes in the thread")


def test_coroutine_with_a_3_kib_stack_is_recorded():
    """When the loader binds a function at its first call it needs more stack than memprof. So it binds all functions at
    the start."""
    for program in PROGRAMS:
        for how in ("large", "all"):
            log = mp.run([mp.victim(program), "tight"], env={"MEMPROF_STACKS": how, "LD_BIND_NOW": "1"}).logs.one()
            mp.whole(log)
            mp.equal(log.heap()["end_bytes"], (3 << 20) + 10, f"{program} {how}: bytes at the end")


def test_longjmp_keeps_stacks_and_totals_exact():
    for program in PROGRAMS:
        log = exact([mp.victim(program), "jumps"])
    stacks.has_symbols()
    log = mp.run([mp.victim("hard_stacks"), "jumps"], env=ALL).logs.one()
    mp.equal(ends_in(log, "main;jumps;after_jump;keep"), 100 * 20000, "bytes after a jump")


def test_exceptions_keep_stacks_and_totals_exact():
    log = exact([mp.victim("throws")])
    stacks.has_symbols()
    mp.equal(ends_in(log, "main;after_throw"), 100 * 20000, "bytes after an exception")


def test_fork_while_other_threads_allocate_keeps_totals_exact():
    for program in PROGRAMS:
        logs = mp.run([mp.victim(program), "forks"], env=ALL).logs.all()
        parent, = (log for log in logs if not log.process["parent_log"])
        mp.whole(parent)
        children = [log for log in logs if log is not parent]
        mp.equal(len(children), 50, "logs of children")
        for log in children:
            mp.whole(log)
            mp.equal((log.heap()["allocations"], log.heap()["end_bytes"]), (100, 100000), "a child's blocks")
    stacks.has_symbols()
    child = next(log for log in mp.run([mp.victim("hard_stacks"), "forks"], env=ALL).logs.all() if log.process["parent_log"])
    mp.equal(ends_in(child, "make_children;in_child;keep"), 100000, "bytes in the child")


def test_signal_handlers_during_stack_walks_lose_no_event():
    """The handler takes stacks as often as it can."""
    blocks = 300000
    result = mp.run([mp.victim("signals"), "storm", str(blocks)], env=ALL)
    handled, log = int(result.out), result.logs.one()
    mp.whole(log)
    mp.check(handled > 100, f"the timer came only {handled} times")
    mp.equal(log.range("blocks")["allocations"], blocks, "the program's blocks")
    mp.equal((log.heap("host/mmap")["allocations"], log.heap("host/mmap")["end_bytes"]), (handled, 0), "the handler's mappings")


if __name__ == "__main__":
    mp.main()
