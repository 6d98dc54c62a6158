"""After SIGKILL at any instant the report has every earlier event once, in its range.

The victim keeps counters in a shared mapping (churn.c). After a kill the log must agree with them, except for the step
that was under way, which may or may not have been recorded."""
import os
import random
import signal
import struct
import subprocess
import time

import mp

WORKERS = 8
COUNTERS = struct.Struct("=QQ" + "6Q" * 2)     # struct counters of churn.c


def read_counters(path):
    """Returns {pid: [(worker, states that may be valid)]}. A state is ((allocations, blocks, bytes), ...) of the even
    and the odd range."""
    counters = {}
    with open(path, "rb") as f:
        data = f.read()
    for worker in range(len(data) // COUNTERS.size):
        pid, word, *values = COUNTERS.unpack_from(data, worker * COUNTERS.size)
        if not pid:
            continue
        states = [tuple(zip(v[0:2], v[2:4], v[4:6])) for v in (values[:6], values[6:])]
        may = [states[word & 1]] + ([states[1 - (word & 1)]] if word & 2 else [])
        counters.setdefault(pid, []).append((worker, may))
    return counters


def steps(path):
    """Returns the number of allocations counted by a running victim."""
    try:
        return sum(sum(r[0] for r in may[0]) for workers in read_counters(path).values() for _, may in workers)
    except (OSError, struct.error):
        return 0


def agree(log, workers):
    """Checks that the log agrees with the counters of its process."""
    at_end = log.at_end()
    ranges, known = at_end.ranges(), log.ranges()
    none = {"allocations": 0, "blocks_at_peak": 0, "bytes_at_peak": 0}
    for worker, may in workers:
        names = [f"worker {worker} {parity}" for parity in ("even", "odd")]
        got = tuple((known.get(n, none)["allocations"], ranges.get(n, none)["blocks_at_peak"], ranges.get(n, none)["bytes_at_peak"])
                    for n in names)
        mp.check(got in may, f"{log.path}: {names} have {got}, the counters have {may}")
    mp.nothing_missing(log)


def has_steps(workers):
    """Returns true after a process's first step. Before that its log may be missing or empty."""
    return any(r[0] for _, may in workers for r in may[0])


def start(how, workers, **env):
    logs = mp.fresh()
    counters = os.path.join(logs, "counters")
    process = mp.start([mp.victim("churn"), counters, how, str(workers)], logs, start_new_session=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    return process, counters, mp.Logs(logs)


def encoders(pid):
    """Returns the names of memprof's threads in a process."""
    names = []
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/comm", encoding="ascii") as f:
                names.append(f.read())
        except OSError:     # the thread has ended
            continue
    return names.count("memprof\n")


def killed(how, workers, at_least=0, within=0.06, threads=0):
    """Kills the victim's process group at a random instant after its first steps, once it has `encoders` encoders. Returns the
        logs and the counters."""
    process, counters, logs = start(how, workers)
    mp.wait_for(lambda: steps(counters) >= at_least and encoders(process.pid) >= threads)
    time.sleep(random.random() * within)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return logs, read_counters(counters) if os.path.exists(counters) else {}


def kill_often(times, how, workers, at_least=1000, within=0.06, threads=0):
    seed = int.from_bytes(os.urandom(4), "little")
    print(f"seed {seed}")
    random.seed(seed)
    for _ in range(times):
        logs, counters = killed(how, workers, at_least, within, threads)
        for pid, of_pid in counters.items():
            if has_steps(of_pid):
                agree(logs.of(pid), of_pid)


def test_killed_while_threads_allocate_loses_no_event():
    kill_often(8, "threads", 4)


def test_killed_with_one_thread_loses_no_event():
    kill_often(6, "threads", 1, at_least=100)


def test_killed_process_group_loses_no_event():
    kill_often(5, "processes", 4)


def test_killed_while_threads_end_loses_no_event():
    kill_often(6, "short", 3)


def test_killed_while_forking_loses_no_event():
    kill_often(5, "forking", 1)


def test_killed_with_a_large_log_loses_no_event():
    """Chunks were reused, and frames were written many times."""
    kill_often(3, "threads", 2, at_least=3000000)


def test_report_on_a_running_process_misses_no_event():
    """A report on a running process shows the events of all threads up to one instant."""
    process, counters, logs = start("threads", 4)
    mp.wait_for(lambda: steps(counters) >= 100000)
    os.setpriority(os.PRIO_PGRP, process.pid, 19)       # so that the reader is fast enough on a loaded machine
    for _ in range(8):
        mp.nothing_missing(logs.one())
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def needs_two_processors():
    if len(os.sched_getaffinity(0)) < 2:
        raise mp.Skip("one processor: there is no second encoder")


def test_killed_while_two_encoders_work_loses_no_event():
    needs_two_processors()
    kill_often(5, "threads", 8, within=0.2, threads=2)


def slow_killed_while_two_encoders_work_loses_no_event():
    needs_two_processors()
    kill_often(200, "threads", 8, within=0.2, threads=2)


def slow_killed_at_200_random_instants_loses_no_event():
    for how, workers in (("threads", 4), ("threads", 1), ("processes", 8), ("short", 4), ("forking", 1)):
        kill_often(200, how, workers, at_least=100, within=0.2)
    kill_often(50, "threads", 8, at_least=10000000, within=1)


def starts_killed(times):
    """Kills the process during the loader, constructors and the first steps. There may be no log yet. An existing log can be
        read, or the report gives the reason."""
    for i in range(times):
        process, counters, logs = start("threads", 1)
        time.sleep(0.012 * i / times)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        of_pid = read_counters(counters) if os.path.exists(counters) else {}
        for pid, workers in of_pid.items():
            if has_steps(workers):
                agree(logs.of(pid), workers)
        if not of_pid:
            for path in logs.paths():
                report = subprocess.run([os.environ["MEMPROF_REPORT"], "peaks", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        timeout=mp.TIMEOUT, check=False)
                mp.check(report.returncode in (0, 1, mp.INCOMPLETE), f"{path}: {report}")


def test_killed_during_startup_leaves_a_readable_log():
    starts_killed(25)


def slow_killed_during_startup_leaves_a_readable_log():
    starts_killed(1000)


def test_segmentation_fault_loses_no_event():
    process, counters, logs = start("segv", 1)
    mp.equal(process.wait(mp.TIMEOUT), -signal.SIGSEGV, "status")
    (workers,) = read_counters(counters).values()
    mp.equal(len(workers[0][1]), 1, "no step is under way")
    agree(logs.one(), workers)


def memory_cgroup():
    """Creates a memory cgroup, version 1 or 2, with a limit of 64 MiB."""
    name = f"memprof-test-{os.getpid()}"
    with open("/proc/self/cgroup", encoding="ascii") as f:
        lines = dict(line.rstrip("\n").split(":", 2)[1:] for line in f)
    one, two = "memory.limit_in_bytes", "memory.max"
    for parent, limit in ((f"/sys/fs/cgroup/memory{lines.get('memory', '')}", one), ("/sys/fs/cgroup/memory", one),
                          (f"/sys/fs/cgroup{lines.get('', '')}", two), ("/sys/fs/cgroup", two)):
        path = os.path.join(parent, name)
        try:
            os.mkdir(path)
        except OSError:
            continue
        try:
            with open(os.path.join(path, limit), "w", encoding="ascii") as f:
                f.write(str(64 << 20))
            return path
        except OSError:
            os.rmdir(path)
    raise mp.Skip("no memory cgroup can be made")


def test_killed_by_a_memory_cgroup_loses_no_event():
    group = memory_cgroup()
    logs = mp.fresh()
    counters = os.path.join(logs, "counters")

    def enter():
        with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as f:
            f.write(str(os.getpid()))

    try:
        process = mp.start([mp.victim("churn"), counters, "grow", "1"], logs, preexec_fn=enter, start_new_session=True)
        status = process.wait(mp.TIMEOUT)
    finally:
        mp.wait_for(lambda: removed(group))
    if status != -signal.SIGKILL:
        raise mp.Skip(f"the cgroup did not kill: {status}")
    (workers,) = read_counters(counters).values()
    log = mp.Logs(logs).one()
    agree(log, workers)
    mp.check(log.heap()["end_bytes"] > 30 << 20, f"only {log.heap()['end_bytes']} bytes at the end")


def removed(group):
    try:
        os.rmdir(group)
    except OSError:
        return not os.path.exists(group)
    return True


if __name__ == "__main__":
    mp.main()
