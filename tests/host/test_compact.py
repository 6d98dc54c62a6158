"""A log whose beginning was thinned has the same peaks and end as before, whatever happens to LOG.fold or to the process
that thins.

The expected values at the log's end are the victim's counters (churn.c). Those before the thinning come from a copy."""
import contextlib
import fcntl
import os
import random
import resource
import shutil
import signal
import subprocess

import mp
import test_kill as killing

KEEP = "1M"
STEPS = 700000      # a few MiB of log


def report(*arguments, status=0, **run):
    done = subprocess.run([os.environ["MEMPROF_REPORT"], *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=mp.TIMEOUT, check=False, **run)
    mp.equal(done.returncode, status, f"status of {arguments}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def compact(path, *options, **run):
    return report("log", "compact", "--keep", KEEP, *options, path, **run)


def folded(path):
    out = compact(path)
    mp.check("thinned to" in out, out)
    return path


def copy(path, where=None, fold=True):
    """Copies the log and its companion files in their present state, and returns the copy's path."""
    where = where or mp.fresh("copy")
    for suffix in ("", ".journal", *([".fold"] if fold else [])):
        if os.path.exists(path + suffix):
            subprocess.run(["cp", "--sparse=always", "--preserve", path + suffix, where], check=True)
    return os.path.join(where, os.path.basename(path))


def kill(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextlib.contextmanager
def stopped(at_least=STEPS, **env):
    """Returns the log and the counters of a program that was stopped after STEPS steps."""
    process, counters, logs = killing.start("threads", 2, **env)
    try:
        mp.wait_for(lambda: killing.steps(counters) >= at_least)
        os.kill(process.pid, signal.SIGSTOP)
        yield process, logs.of(process.pid).path, counters
    finally:
        kill(process)


def killed(**env):
    """Returns the log and the counters of a program that was killed. The log is not thinned yet."""
    with stopped(**env) as (process, path, counters):
        kill(process)
    return path, killing.read_counters(counters)[process.pid]


def held(log):
    """Returns everything that thinning must not change: the heaps, their peaks, and their owners at the peak and at the
    end. Thinning removes samples."""
    what = ("path", "bytes_at_peak", "blocks_at_peak", "end_bytes")
    return [{**heap, **dict.fromkeys(("before_peak", "after_peak", "instance", "touched_at_most_bytes", "touched_at_most_time_ns")),
             "ranges": [[r[key] for key in what] for r in heap["ranges"] if r["bytes_at_peak"] or r["end_bytes"]]}
            for heap in log.json["heaps"]]


def same(path, before):
    mp.equal(held(mp.Log(path)), held(before), "heaps")
    mp.nothing_missing(mp.Log(path))


def agree(path, workers):
    """Checks that the live memory at the end equals the counters of the process."""
    log, ranges, none = mp.Log(path), mp.Log(path).at_end().ranges(), {"blocks_at_peak": 0, "bytes_at_peak": 0}
    for worker, may in workers:
        live = [tuple(ranges.get(f"worker {worker} {parity}", none)[key] for key in ("blocks_at_peak", "bytes_at_peak"))
                for parity in ("even", "odd")]
        mp.check(live in [[state[1:] for state in states] for states in may], f"{live} is live, the counters have {may}")
    mp.nothing_missing(log)


def state(path):
    return mp.Log(path).json.get("fold")


def test_compacted_log_gives_the_same_report():
    with stopped() as (_, path, counters):
        before = mp.Log(path)
        room = os.stat(path).st_blocks
        folded(path)
        mp.equal(os.stat(path).st_size, os.path.getsize(path), "size")
        mp.check(os.stat(path).st_blocks < room // 2, "no room was given back")
        same(path, before)
        mp.equal(state(path), "folded", "state")
        mp.check("log: thinned until" in report("peaks", path), "the report does not mention thinning")
        mp.equal(sorted(f for f in os.listdir(os.path.dirname(path)) if ".fold" in f), [os.path.basename(path) + ".fold"], "files")
        mp.check("its older part is too small" in compact(path), "folded again without need")


def test_compact_works_repeatedly_while_the_program_runs():
    process, counters, logs = killing.start("threads", 2)
    for n in range(1, 4):
        mp.wait_for(lambda: killing.steps(counters) >= n * STEPS)
        path = logs.paths()[0]
        os.kill(process.pid, signal.SIGSTOP)    # it writes faster than the log can be thinned
        compact(path)
        os.kill(process.pid, signal.SIGCONT)
    mp.equal(state(path), "folded", "state")
    kill(process)
    agree(path, killing.read_counters(counters)[process.pid])
    mp.check("LOG.fold was merged into it" in report("log", "recover", path), "not merged")
    mp.equal(os.listdir(logs.folder).count(os.path.basename(path) + ".fold"), 0, "folds")
    agree(path, killing.read_counters(counters)[process.pid])
    mp.whole(mp.Log(path))


def test_compact_of_a_finished_log_leaves_one_file():
    path, counters = killed()
    before = mp.Log(path)
    folded(path)
    mp.equal(os.listdir(os.path.dirname(path)).count(os.path.basename(path) + ".fold"), 0, "folds")
    same(path, before)
    mp.whole(mp.Log(path))
    mp.equal(state(path), "folded", "state")
    agree(path, counters)
    report("log", "compact", path, status=1)       # it was not recorded with MEMPROF_KEEP


def test_stale_fold_file_of_a_recovered_log_is_ignored():
    with stopped() as (process, path, _):
        folded(path)
        before = mp.Log(path)
        left = copy(path)
        kill(process)
    report("log", "recover", path)
    shutil.copy(left + ".fold", path + ".fold")
    same(path, before)
    mp.check("already complete" in report("log", "recover", path), "not complete")
    mp.check(not os.path.exists(path + ".fold"), "LOG.fold was not removed")


def test_missing_foreign_or_damaged_fold_file_is_reported():
    with stopped() as (_, path, _), stopped() as (_, other, _):
        first = copy(folded(path))
        alone = copy(path, fold=False)
        mp.equal((state(alone), mp.Log(alone).exit), ("missing", mp.INCOMPLETE), "without LOG.fold")
        mp.check("copy it to the folder of the log" in report("peaks", alone, status=mp.INCOMPLETE), "the report does not mention the missing file")
        shutil.copy(folded(other) + ".fold", alone + ".fold")
        mp.equal((state(alone), mp.Log(alone).exit), ("foreign", mp.INCOMPLETE), "another log's")
        with open(alone + ".fold", "wb") as f:
            f.write(b"no frames")
        mp.equal((state(alone), mp.Log(alone).exit), ("damaged", mp.INCOMPLETE), "damaged")
        mp.check("move it away" in compact(alone, status=1), "folded over a damaged one")
        with open(first + ".fold", "r+b") as f:
            f.truncate(os.path.getsize(first + ".fold") // 2)
        mp.equal(mp.Log(first).exit, mp.INCOMPLETE, "a part of it")


def test_compacted_log_without_its_newest_part_is_reported():
    with stopped() as (_, path, _):
        whole = copy(folded(path))
        cut = copy(whole)
    with open(cut, "r+b") as f:                       # the bytes after the hole are cut off
        f.truncate(4096)
    os.unlink(whole)
    os.rename(whole + ".journal", whole + ".fold.journal")
    for beginning in whole + ".fold", cut:            # the events in the journal are not part of the copy
        said = report("peaks", beginning, status=mp.INCOMPLETE)
        is_said = "this is the beginning of a log that was thinned" in said or "INCOMPLETE, a copy" in said     # copied
                                                                                                              # while
                                                                                                              # its
                                                                                                              # process
                                                                                                              # ran
        mp.check(is_said and "nothing is missing" not in said, said)
    for gone in whole + ".fold.journal", cut + ".journal", path + ".journal":
        os.unlink(gone)
    mp.check("the newest part of the log, does not exist" in report("peaks", whole, status=1), "the report does not mention the missing log")
    for beginning in whole + ".fold", cut:
        mp.check("this is the beginning of a log that was thinned" in report("peaks", beginning, status=mp.INCOMPLETE), beginning)
    mp.check(os.path.exists(whole + ".fold"), "the beginning is gone")


def test_outdated_fold_file_is_reported():
    process, counters, logs = killing.start("threads", 2)
    mp.wait_for(lambda: killing.steps(counters) >= STEPS)
    os.kill(process.pid, signal.SIGSTOP)
    path = folded(logs.paths()[0])
    older = copy(path)
    os.kill(process.pid, signal.SIGCONT)
    mp.wait_for(lambda: killing.steps(counters) >= 3 * STEPS)
    os.kill(process.pid, signal.SIGSTOP)
    folded(path)
    shutil.copy(older + ".fold", path + ".fold")
    mp.equal((state(path), mp.Log(path).exit), ("older", mp.INCOMPLETE), "older")
    kill(process)


def test_reader_skips_a_100_gib_hole_in_a_log():
    with stopped() as (_, path, _):
        alone = copy(folded(path), fold=False)
    with open(alone, "r+b") as f:
        hole = os.lseek(f.fileno(), 0, os.SEEK_HOLE)
        data = os.lseek(f.fileno(), hole, os.SEEK_DATA)
        f.seek(data)
        rest = f.read()
        f.truncate(hole)
        f.seek(100 << 30)
        f.write(rest)
    mp.equal((state(alone), mp.Log(alone).exit), ("missing", mp.INCOMPLETE), "a hole of 100 GiB")


def test_compact_skips_a_log_that_is_in_use():
    """A reader can continue to read a log that is thinned, and only one of two processes thins a log."""
    with stopped() as (_, path, _):
        before = mp.Log(path)
        with open(path, "rb") as reader:
            fcntl.flock(reader, fcntl.LOCK_SH)
            mp.check("another process reads it" in compact(path), "folded under a reader")
        with open(path + ".fold.tmp", "wb") as folder:
            fcntl.flock(folder, fcntl.LOCK_EX)
            mp.check("another memprof-report" in compact(path, status=1), "two at once")
        same(path, before)
        folded(path)
        same(path, before)


def test_refused_compact_loses_nothing():
    with stopped() as (_, path, _):
        before = mp.Log(path)
        small = mp.limit(resource.RLIMIT_FSIZE, 100000)
        mp.check("File too large" in compact(path, status=1, preexec_fn=lambda: (small(), signal.signal(signal.SIGXFSZ, signal.SIG_IGN))),
                 "no room")
        same(path, before)
        mp.check("cannot release room inside a file" in compact(path, status=1, env={**os.environ, "LD_PRELOAD": mp.victim("libno_hole_punching.so")}), "no holes")
        os.link(path, path + ".link")
        mp.check("hard link" in compact(path, status=1), "a hard link")
        os.unlink(path + ".link")
        os.symlink(path, path + ".link")
        mp.check("this is a link" in compact(path + ".link", status=1), "a link")
        os.unlink(path + ".link")
        mp.check("MEMPROF_KEEP" in report("log", "compact", path, status=1), "the message does not name MEMPROF_KEEP")
        for wrong in ("", "0", "2", "30m", "2g", "G", "-1G", "99999999999999999999G", "2Gi"):
            report("log", "compact", f"--keep={wrong}", path, status=2)
        if os.geteuid() == 0:
            os.chown(path, 12345, -1)
            mp.check("another user" in compact(path, status=1), "another user's")
            os.chown(path, 0, -1)
        mp.equal([f for f in os.listdir(os.path.dirname(path)) if ".fold" in f], [], "files")
        same(path, before)


def test_finished_log_is_compacted_without_hole_punching():
    path, _ = killed()
    before = mp.Log(path)
    mp.check("thinned to" in compact(path, env={**os.environ, "LD_PRELOAD": mp.victim("libno_hole_punching.so")}), "not folded")
    same(path, before)
    mp.whole(mp.Log(path))


def memprof(*arguments, **environment):
    """Runs churn with `memprof run` and kills it after its log was thinned. Returns the log, the counters and the
    output."""
    where = mp.fresh("run")
    counters = where + ".counters"
    env = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "MEMPROF_LIB")}
    process = subprocess.Popen([os.environ["MEMPROF"], "run", "-o", where, "--min-rss=0", *arguments, "--", mp.victim("churn"), counters, "threads",
                                "1"], env={**env, **environment}, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    mp.wait_for(lambda: killing.steps(counters) >= STEPS)
    pid = next(iter(killing.read_counters(counters)))
    os.kill(pid, signal.SIGSTOP)        # the thinning process has the lowest priority
    mp.wait_for(lambda: any(f.endswith(".fold") for f in os.listdir(where)))
    os.kill(pid, signal.SIGKILL)
    _, err = process.communicate(timeout=mp.TIMEOUT)
    path = mp.Logs(where).one().path
    agree(path, killing.read_counters(counters)[pid])
    mp.equal(sorted(os.listdir(where)), sorted([os.path.basename(path), "memprof.run"]), "files")
    return path, err


def test_run_keep_compacts_while_the_program_runs():
    path, err = memprof("--keep=" + KEEP)
    mp.check("1 completed from the journal" in err and "MEMPROF_KEEP" not in err, err)
    mp.equal(state(path), "folded", "state")
    mp.check("keep = " + KEEP in report("log", "info", path), "not in the header")


def test_run_compacts_if_the_environment_sets_keep():
    path, _ = memprof(MEMPROF_KEEP=KEEP)
    mp.equal(state(path), "folded", "state")


def test_library_suggests_compact_follow_without_a_launcher():
    logs = mp.fresh()
    process = mp.start([mp.victim("work"), "100"], logs, env={"MEMPROF_KEEP": "2G"}, stderr=subprocess.PIPE, text=True)
    _, err = process.communicate(timeout=mp.TIMEOUT)
    mp.check(f"memprof-report log compact --follow {mp.Logs(logs).one().path}" in err, err)
    process = mp.start([mp.victim("work"), "100"], mp.fresh(), env={"MEMPROF_KEEP": "30m"}, stderr=subprocess.PIPE, text=True)
    _, err = process.communicate(timeout=mp.TIMEOUT)
    mp.check("invalid MEMPROF_KEEP '30m': expected a size" in err and "--follow" not in err, err)


def test_compact_follow_ends_with_the_process():
    """Without a launcher a log is not thinned before the process has ended."""
    logs = mp.fresh()
    counters = os.path.join(logs, "counters")
    process = mp.start([mp.victim("churn"), counters, "threads", "1"], logs, start_new_session=True, env={"MEMPROF_KEEP": KEEP, "MEMPROF_QUIET": "1"})
    folder = subprocess.Popen([os.environ["MEMPROF_REPORT"], "log", "compact", "--follow", logs])
    mp.wait_for(lambda: killing.steps(counters) >= STEPS)
    os.kill(process.pid, signal.SIGSTOP)
    mp.wait_for(lambda: any(f.endswith(".fold") for f in os.listdir(logs)))
    kill(process)
    mp.equal(folder.wait(mp.TIMEOUT), 0, "status")
    log = mp.Logs(logs).one()
    mp.whole(log)
    agree(log.path, killing.read_counters(counters)[process.pid])
    mp.equal([f for f in os.listdir(logs) if "fold" in f or "journal" in f], [], "files")


def children(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(child) for child in f.read().split()]
    return []


def program_of(pid):
    with contextlib.suppress(OSError):
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    return ""


def runs(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as f:
        return f.read().rpartition(")")[2].split()[0] not in "ZX"
    return False


@contextlib.contextmanager
def followed(*command):
    """Runs a command with `memprof run --keep`. Returns its directory, the launcher, and the process that thins the
    logs."""
    where, follower = mp.fresh("run"), 0
    env = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "MEMPROF_LIB")}
    launcher = subprocess.Popen([os.environ["MEMPROF"], "run", "-q", "-o", where, "--keep=" + KEEP, "--", *command], env=env,
                                stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        mp.wait_for(lambda: any(program_of(pid) == "memprof-report" for pid in children(launcher.pid)))
        follower, = (pid for pid in children(launcher.pid) if program_of(pid) == "memprof-report")
        yield where, launcher, follower
    finally:
        kill(launcher)
        with contextlib.suppress(ProcessLookupError):
            if follower:
                os.kill(follower, signal.SIGKILL)


def churning(where, *options):
    """Runs churn into a directory, and stops it after a few MiB of log. Returns the launcher, the log and the program's
    process ID."""
    counters = mp.fresh("counters") + "/counters"
    env = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "MEMPROF_LIB")}
    launcher = subprocess.Popen([os.environ["MEMPROF"], "run", "-q", "-o", where, *options, "--", mp.victim("churn"), counters, "threads", "1"], env=env,
                                stdin=subprocess.DEVNULL, start_new_session=True)
    mp.wait_for(lambda: killing.steps(counters) >= STEPS)
    pid = next(iter(killing.read_counters(counters)))
    os.kill(pid, signal.SIGSTOP)
    path, = (path for path in mp.Logs(where).paths() if f".{pid}." in path)
    return launcher, path, pid


def test_run_keep_does_not_compact_logs_of_other_runs():
    """Uses one directory for an earlier run and for one that runs at the same time."""
    where = mp.fresh("run")
    launcher, earlier, pid = churning(where)
    os.kill(pid, signal.SIGKILL)
    launcher.wait(mp.TIMEOUT)
    with open(earlier, "rb") as f:
        bytes_before = f.read()
    mp.check(len(bytes_before) > 2 << 20, f"a log of {len(bytes_before)} bytes is not worth thinning")
    beside_launcher, beside, beside_pid = churning(where)
    blocks_before = os.stat(beside).st_blocks
    launcher, kept, pid = churning(where, "--keep=" + KEEP)
    try:
        mp.wait_for(lambda: os.path.exists(kept + ".fold"))
        os.kill(pid, signal.SIGKILL)
        launcher.wait(mp.TIMEOUT)           # after it examined all logs a last time
        mp.equal(state(kept), "folded", "the run's own log")
        with open(earlier, "rb") as f:
            mp.check(f.read() == bytes_before, "the log of an earlier run was changed")
        mp.check(os.stat(beside).st_blocks >= blocks_before and state(beside) is None, "the log of a run at the same time was thinned")
    finally:
        kill(launcher)
        kill(beside_launcher)


def test_compact_of_one_run_changes_no_other_log():
    logs = [killed()[0], killed(MEMPROF_RUN="other", MEMPROF_KEEP=KEEP)[0], killed(MEMPROF_RUN="this")[0]]
    this = killed(MEMPROF_RUN="this", MEMPROF_KEEP=KEEP)[0]
    mp.equal(report("log", "compact", "--run=this", *logs), "", "logs of other runs, and one without MEMPROF_KEEP")
    mp.equal([state(log) for log in logs], [None] * 3, "states")
    mp.check("thinned to" in report("log", "compact", "--run=this", this), "a log of the run")


def switches(pid):
    """Returns how often the process has waited."""
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("voluntary_ctxt_switches"))


def rounds(follower, count):
    """Waits until the process has examined the logs `times` times. It sleeps between two rounds."""
    before = switches(follower)
    mp.wait_for(lambda: not runs(follower) or switches(follower) >= before + count)


def test_compact_follow_ends_if_launcher_and_log_are_gone():
    with followed("sleep", "600") as (where, launcher, follower):
        mp.wait_for(lambda: mp.Logs(where).paths())
        rounds(follower, 2)
        launcher.kill()
        shutil.rmtree(where)
        mp.wait_for(lambda: not runs(follower))


def test_compact_follow_ends_if_the_launcher_is_killed_before_any_log():
    with followed("env", "-u", "LD_PRELOAD", "sleep", "600") as (where, launcher, follower):
        mp.wait_for(lambda: any(program_of(pid) == "sleep" for pid in children(launcher.pid)))
        shutil.rmtree(where)
        launcher.kill()
        mp.wait_for(lambda: not runs(follower))


def test_next_run_removes_files_of_a_killed_compact():
    where = mp.fresh("run")
    names = "gone.zst.fold.tmp", "busy.zst.fold.tmp"
    for name in names:
        with open(os.path.join(where, name), "wb") as f:
            f.write(b"left")
    env = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "MEMPROF_LIB")}
    with open(os.path.join(where, names[1]), "rb") as busy:
        fcntl.flock(busy, fcntl.LOCK_EX)
        subprocess.run([os.environ["MEMPROF"], "run", "-q", "-o", where, "--", "true"], env=env, check=True, timeout=mp.TIMEOUT)
        mp.equal([name for name in os.listdir(where) if name.endswith(".tmp")], [names[1]], "files that stay")


def test_recover_removes_files_of_a_killed_compact():
    path, _ = killed()
    with open(path + ".fold.tmp", "wb") as f:
        f.write(b"left")
    report("log", "recover", path)
    mp.equal([f for f in os.listdir(os.path.dirname(path)) if "fold" in f], [], "files")


def folders_killed(times):
    """A process that thins is killed at any instant, and the next one continues."""
    process, counters, logs = killing.start("threads", 1)
    mp.wait_for(lambda: killing.steps(counters) >= STEPS)
    path = logs.paths()[0]
    for _ in range(times):
        os.kill(process.pid, signal.SIGCONT)
        folder = subprocess.Popen([os.environ["MEMPROF_REPORT"], "log", "compact", "--keep", KEEP, path], stdout=subprocess.DEVNULL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            folder.wait(random.random() * 0.3)
        folder.kill()
        folder.wait()
        os.kill(process.pid, signal.SIGSTOP)    # it writes faster than the log can be read
        mp.nothing_missing(mp.Log(path))
    kill(process)
    agree(path, killing.read_counters(counters)[process.pid])


def programs_killed(times):
    """The program and the process that merges the log with LOG.fold are killed while the log is thinned."""
    for _ in range(times):
        process, counters, logs = killing.start("threads", 2)
        mp.wait_for(lambda: killing.steps(counters) >= STEPS // 4)
        path = logs.paths()[0]
        folder = subprocess.Popen([os.environ["MEMPROF_REPORT"], "log", "compact", "--keep", KEEP, path], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        kill(process)
        folder.wait(mp.TIMEOUT)
        recovery = subprocess.Popen([os.environ["MEMPROF_REPORT"], "log", "recover", path], stdout=subprocess.DEVNULL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            recovery.wait(random.random() * 0.1)
        recovery.kill()
        recovery.wait()
        agree(path, killing.read_counters(counters)[process.pid])
        report("log", "recover", path)
        agree(path, killing.read_counters(counters)[process.pid])
        mp.whole(mp.Log(path))


def test_compact_can_be_killed_at_any_instant():
    folders_killed(8)


def test_program_can_be_killed_while_its_log_is_compacted():
    programs_killed(5)


def slow_compact_can_be_killed_at_any_instant():
    for _ in range(20):
        folders_killed(10)


def slow_program_can_be_killed_while_its_log_is_compacted():
    programs_killed(50)


if __name__ == "__main__":
    mp.main()
