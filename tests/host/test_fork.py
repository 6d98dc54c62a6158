"""Children created in any way do not hang, each has its own log, and no heap has negative bytes."""
import subprocess

import mp

BLOCKS, BYTES = 100, 1000       # the blocks that each child keeps


def family(how, children):
    """Runs the victim and returns its log and the logs of its children."""
    result = mp.run([mp.victim("forks"), how, str(children)])
    parent, = (log for log in result.logs.all() if log.process["parent_log"] is None and "child" not in log.process["command"])
    return parent, [log for log in result.logs.all() if log.path != parent.path]


def kept(log, blocks=BLOCKS):
    """Checks that the child's own blocks are in its log, and that freeing inherited blocks changed nothing."""
    h, r = log.heap(), log.range("child")
    mp.equal((r["allocations"], r["bytes_at_peak"]), (blocks, blocks * BYTES), f"{log.path}: blocks in range")
    mp.within(h["end_bytes"], blocks * BYTES, blocks * BYTES + 100000, f"{log.path}: end")
    mp.equal(log.json["lost_events"], 0, f"{log.path}: lost")
    mp.equal(log.json["unmatched_frees"], 0, f"{log.path}: unmatched frees")


def forked(how, children, complete=True):
    parent, logs = family(how, children)
    mp.whole(parent)
    mp.equal(len(logs), children, "logs of children")
    for log in logs:
        kept(log)
        mp.equal(log.process["parent_log"], parent.path, f"{log.path}: its parent's log")
        mp.equal(log.process["ppid"], parent.process["pid"], f"{log.path}: its parent")
        mp.check(log.json["inherited_frees"] >= 10, f"{log.path}: inherited frees {log.json['inherited_frees']}")
        mp.equal(log.json["complete"], complete, f"{log.path}: complete")


def test_200_forks_of_a_multithreaded_process_are_recorded():
    forked("fork", 200)


def test_forked_child_that_exits_is_recorded():
    forked("exit", 10)


def test_forked_child_that_aborts_is_recorded():
    forked("abort", 5, complete=False)


def test_child_made_by__Fork_is_recorded():
    forked("_fork", 20)


def test_raw_clone_child_is_recorded():
    forked("clone", 20)


def test_forked_child_that_cannot_open_files_is_not_recorded():
    parent, logs = family("unrecorded", 5)
    mp.whole(parent)
    mp.equal(logs, [], "logs of children")


def test_children_and_grandchildren_are_recorded():
    parent, logs = family("nested", 5)
    mp.equal(len(logs), 10, "logs")
    for log in logs:
        kept(log)
    grandchildren = [log for log in logs if log.process["parent_log"] != parent.path]
    mp.equal(len(grandchildren), 5, "grandchildren")
    for log in grandchildren:
        mp.check(log.process["parent_log"] in [c.path for c in logs], f"{log.path} names {log.process['parent_log']}")


def test_forked_child_that_calls_exec_leaves_two_logs():
    parent, logs = family("exec", 10)
    mp.whole(parent)
    mp.equal(len(logs), 20, "logs: each child's before exec and after it")
    for log in logs:
        kept(log)
        mp.check(log.json["complete"], f"{log.path} is not complete")
    mp.equal(len([log for log in logs if log.path.endswith(".2.zst")]), 10, "logs after exec")


def new_programs(how):
    """The children execute another program. Events before exec belong to the parent."""
    parent, logs = family(how, 10)
    mp.whole(parent)
    mp.equal(len(logs), 10, "logs of children")
    for log in logs:
        mp.whole(log)
        kept(log)
        mp.equal(log.process["ppid"], parent.process["pid"], f"{log.path}: its parent")


def test_vfork_and_exec_child_is_recorded():
    new_programs("vfork")


def test_posix_spawn_child_is_recorded():
    new_programs("spawn")


def test_daemon_child_is_recorded():
    result = mp.run([mp.victim("forks"), "daemon", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # the daemon runs on after the process that the test waited for
    mp.wait_for(lambda: sum(log.json["complete"] and "child" in log.ranges() for log in result.logs.all()) == 1)
    child, = (log for log in result.logs.all() if log.process["parent_log"])
    kept(child)


if __name__ == "__main__":
    mp.main()
