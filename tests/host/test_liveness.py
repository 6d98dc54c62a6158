"""Every command recognises whether a process is alive, and does not change the log of a live one."""
import collections
import fcntl
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

import mp

PYTHON = os.path.realpath(sys.executable)
FLOCK = struct.Struct("hh4xqqi4x")
F_OFD_GETLK, F_OFD_SETLK = 36, 37
HEAD = struct.Struct("=8sHHIII16sQ3Q3QIIQQ5QIIQ16sQQQQQQQ")
LOCKED = 1

Head = collections.namedtuple("Head", "magic major minor head_bytes chunk_bytes slot_bytes id pid s0 s1 s2 l0 l1 l2 chunks r0 lost unused u0 u1 u2 u3 u4 "
                              "flags r1 beat boot pidns timens started self_dev self_ino log_dev log_ino")


def head(journal):
    with open(journal, "rb") as f:
        return Head(*HEAD.unpack(f.read(HEAD.size)))


def free(journal):
    """Returns true if no process holds the lock on the journal's first byte."""
    with open(journal, "rb") as f:
        answer = fcntl.fcntl(f, F_OFD_GETLK, FLOCK.pack(fcntl.F_WRLCK, 0, 0, 1, 0))
    return FLOCK.unpack(answer)[0] == fcntl.F_UNLCK


class Victim:
    """A Python program under memprof that runs a script and then waits, with its logs and its journal."""

    def __init__(self, script="", around=(), logs=None, **env):
        self.logs = mp.Logs(logs or mp.fresh())
        argv = [*around, PYTHON, "-c", f"import os, sys, time\n{script}\nprint(os.getpid(), flush=True)\ntime.sleep(1000)"]
        self.process = mp.start(argv, self.logs.folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                start_new_session=True)
        line = self.process.stdout.readline()
        if not line:
            raise mp.Skip(f"{' '.join(argv[:3])}: {self.process.communicate()[1]}")
        self.pid = int(line)
        self.log = os.path.join(self.logs.folder, f"{self.pid}.zst")
        self.journal = self.log + ".journal"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:      # the test has already ended all of its processes
            pass
        self.process.communicate()

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


def holds(journal):
    if not head(journal).flags & LOCKED:
        raise mp.Skip("no file system here whose locks last as long as a mapping")
    mp.check(not free(journal), "the journal of a living process is not locked")


def test_journal_is_locked_until_the_process_ends():
    with Victim() as victim:
        holds(victim.journal)
        victim.kill()
        mp.check(free(victim.journal), "the lock outlived its process")


def test_child_does_not_keep_the_journal_of_its_parent_locked():
    with Victim("if os.fork() == 0: time.sleep(1000)") as victim:
        holds(victim.journal)
        victim.kill()
        mp.check(free(victim.journal), "a child keeps the lock")


def test_journal_is_locked_again_after_a_failed_exec():
    script = "try: os.execv('/no/such/program', ['x'])\nexcept OSError: pass"
    with Victim(script) as victim:
        holds(victim.journal)
        mp.equal(head(victim.journal).self_ino, os.stat(victim.journal).st_ino, "the journal's own inode")
        victim.kill()
        mp.check(free(victim.journal), "the lock outlived its process")


def stat_field(pid, n):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return int(f.read().rsplit(")", 1)[1].split()[n - 3])


def test_journal_header_identifies_its_process():
    with Victim() as victim:
        h = head(victim.journal)
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
            mp.equal(h.boot.hex(), f.read().strip().replace("-", ""), "boot")
        mp.equal(h.pidns, os.stat(f"/proc/{victim.pid}/ns/pid").st_ino, "namespace of process numbers")
        mp.equal(h.timens, os.stat(f"/proc/{victim.pid}/ns/time").st_ino, "namespace of time")
        mp.equal(h.started, stat_field(victim.pid, 22), "start")
        for file, dev, ino in ((victim.journal, h.self_dev, h.self_ino), (victim.log, h.log_dev, h.log_ino)):
            mp.equal((dev, ino), (os.stat(file).st_dev, os.stat(file).st_ino), file)


def test_idle_process_updates_its_journal_heartbeat():
    with Victim("x = bytearray(32 << 20)") as victim:
        seen = set()
        mp.wait_for(lambda: seen.add(head(victim.journal).beat) or len(seen) >= 3)
        mp.check(min(seen) >= head(victim.journal).s1, "a beat before the start")


# ---- what reports and recover make of it

NAMESPACE = ["unshare", "--pid", "--fork", "--kill-child"]
OTHER_NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc"]
NOBODY = 65534


def memprof_report(*arguments, around=()):
    return subprocess.run([*around, os.environ["MEMPROF_REPORT"], *arguments], text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=mp.TIMEOUT, check=False)


def reports(log, words, around=()):
    report = memprof_report("peaks", log, around=around)
    mp.check(words in report.stdout, f"{words!r} is not in: {report}")


def recovered(log, *options, around=()):
    result = memprof_report("log", "recover", *options, log, around=around)
    mp.equal(result.returncode, 0, f"status of {result}")
    mp.check("events recovered" in result.stdout, f"{result}")
    return result


def refused(log, words, *options, around=()):
    before, file = contents(log), os.lstat(log).st_ino
    result = memprof_report("log", "recover", *options, log, around=around)
    mp.equal(result.returncode, 1, f"status of {result}")
    mp.check(words in result.stderr, f"{words!r} is not in: {result.stderr}")
    mp.check(contents(log).startswith(before) and os.lstat(log).st_ino == file, "a refused log was changed")


def contents(path):
    if not os.path.isfile(path):
        return b""
    with open(path, "rb") as f:
        return f.read()


def without_lock(journal):
    """As on file systems without reliable locks: the process is recognised by its number and start time."""
    with open(journal, "r+b") as f:
        f.seek(160)
        f.write(bytes(4))


def killed():
    """Returns the log of a killed process, and its journal."""
    with Victim() as victim:
        victim.kill()
    return victim.log, victim.journal


def missing(path):
    mp.check(not os.path.exists(path), f"{path} is still there")


def there(path):
    mp.check(os.path.exists(path), f"{path} is gone")


def in_a_namespace(hide_lock):
    """Process 1 of a namespace is alive while it runs, and has ended after it was killed."""
    with Victim(around=NAMESPACE) as victim:
        mp.equal(victim.pid, 1, "number of the namespace's first process")
        if hide_lock:
            without_lock(victim.journal)
        else:
            holds(victim.journal)
        reports(victim.log, "still running")
        refused(victim.log, "still runs")
        refused(victim.log, "still runs", "--dead")
        there(victim.journal)
        victim.kill()                       # kills unshare; the program dies a moment later
        mp.wait_for(lambda: "still running" not in memprof_report("peaks", victim.log).stdout)
        reports(victim.log, "nothing is missing; the process ended: killed, or ended by exit_group")
        recovered(victim.log)
        missing(victim.journal)


def test_init_process_of_a_pid_namespace_counts_as_ended_after_a_kill():
    in_a_namespace(hide_lock=False)


def as_root():
    if os.getuid() != 0:
        raise mp.Skip("only root sees everything, and can make files of another user")


def first_namespace():
    as_root()
    if os.stat("/proc/self/ns/pid").st_ino != 0xeffffffc:
        raise mp.Skip("not the namespace from which all others are seen")


def test_running_process_in_a_pid_namespace_is_found_without_a_lock():
    first_namespace()
    in_a_namespace(hide_lock=True)


def test_process_invisible_from_this_namespace_is_not_called_dead():
    with Victim() as victim:
        if memprof_report("--version", around=OTHER_NAMESPACE).returncode != 0:
            raise mp.Skip("no pid namespace here")
        holds(victim.journal)
        reports(victim.log, "still running", around=OTHER_NAMESPACE)
        refused(victim.log, "still runs", "--dead", around=OTHER_NAMESPACE)
        without_lock(victim.journal)
        reports(victim.log, "it is not known whether its process still runs", around=OTHER_NAMESPACE)
        refused(victim.log, "may still run (", around=OTHER_NAMESPACE)
        there(victim.journal)
        victim.kill()
        refused(victim.log, "may still run (", around=OTHER_NAMESPACE)
        recovered(victim.log, "--dead", around=OTHER_NAMESPACE)
        missing(victim.journal)


def test_ended_process_is_detected_without_a_journal_lock():
    log, journal = killed()
    without_lock(journal)
    reports(log, "nothing is missing; the process ended: killed, or ended by exit_group")
    recovered(log)
    missing(journal)


def test_process_on_overlayfs_is_identified_by_its_pid():
    as_root()
    folders = [mp.fresh(name) for name in ("lower", "upper", "work", "merged")]
    mount = 'mount -t overlay overlay -o "lowerdir=$1,upperdir=$2,workdir=$3" "$4" && shift 4 && exec "$@"'
    with Victim(around=["unshare", "--mount", "sh", "-c", mount, "sh", *folders], logs=folders[3]) as victim:
        log = os.path.join(folders[1], os.path.basename(victim.log))
        mp.equal(head(log + ".journal").flags & LOCKED, 0, "a lock that does not last")
        reports(log, "still running")
        refused(log, "still runs")
        victim.kill()
        recovered(log)
        missing(log + ".journal")


def copied(*files):
    folder = mp.fresh("copy")
    return [shutil.copy(file, folder) for file in files]


def test_recover_refuses_a_copied_log_of_a_running_process():
    with Victim() as victim:
        log, journal = copied(victim.log, victim.journal)
        refused(log, "still runs")
        refused(log, "still runs", "--dead")
        there(journal)
        victim.kill()
        refused(log, "this is a copy")
        there(journal)
        recovered(log, "--dead")
        missing(journal)
        there(victim.journal)
        recovered(victim.log)
        missing(victim.journal)


def may_miss(log):
    """The text and the JSON report warn that the copy may miss events. They do not claim that it is complete or how the
    process ended."""
    text, json_text = memprof_report("peaks", log), memprof_report("peaks", "--format=json", log)
    mp.check("INCOMPLETE, a copy: events after it was copied may be missing" in text.stdout, f"{text}")
    mp.check("nothing is missing" not in text.stdout and "the process ended: killed, or" not in text.stdout, f"{text}")
    log_json = json.loads(json_text.stdout)["logs"][0]
    mp.equal((log_json["incomplete"], log_json["complete"], log_json.get("copied")), (True, False, True), "fields of the JSON report")
    mp.equal((text.returncode, json_text.returncode), (3, 3), "status")


def is_whole(log):
    report = memprof_report("peaks", log)
    mp.check("nothing is missing" in report.stdout, f"{report}")
    mp.equal(report.returncode, 0, "status")


def test_copied_log_of_a_running_process_is_incomplete():
    with Victim() as victim:
        copy, _ = copied(victim.log, victim.journal)
        may_miss(copy)
        victim.kill()
        may_miss(copy)
        is_whole(victim.log)


def test_copied_log_next_to_the_original_journal_is_incomplete():
    busy = "import threading\nthreading.Thread(target=lambda: [bytearray(1 << 20) for _ in iter(int, 1)], daemon=True).start()"
    with Victim(busy, MEMPROF_JOURNAL_DIR=mp.fresh("journals")) as victim:
        copy, = copied(victim.log)
        mp.wait_for(lambda: os.stat(victim.log).st_size > os.stat(copy).st_size)
        may_miss(copy)
        victim.kill()
        may_miss(copy)
        refused(copy, "this is a copy")
        late, = copied(victim.log)
        is_whole(late)


FILE_CLOCK = 10_000_000     # ns: a file gets the time of the kernel's last tick, at most 10 ms ago


def record_end(folder, journal, how="signal=9", late=0, early=0):
    """Writes memprof.run as the launcher does: the process ended after its last heartbeat, `late` ns later than now."""
    h = head(journal)
    mono, real = h.beat + 1000000 + late, time.time_ns() - early
    with open(os.path.join(folder, "memprof.run"), "w", encoding="ascii") as f:
        f.write(f"run version=1 host={os.uname().nodename} boot=x\nend pid={h.pid} began={h.s1} mono={mono} real={real} {how} name=python3\n")


def test_copied_log_is_complete_if_memprof_run_records_the_kill():
    log, journal = killed()
    folder = os.path.dirname(log)
    record_end(folder, journal, early=FILE_CLOCK)
    copy, _, _ = copied(log, journal, os.path.join(folder, "memprof.run"))
    is_whole(copy)
    recovered(copy)
    with open(copy, "rb") as f:
        mp.check(f.read(4), "the recovered copy is empty")


def test_copied_log_is_incomplete_if_memprof_run_does_not_prove_the_end():
    second = 1000000000
    log, journal = killed()
    copy, copied_journal = copied(log, journal)
    folder = os.path.dirname(copy)
    for wrong in ({"early": -second}, {"late": 2 * second}, {"how": "exit=0"}, {"late": -second}):
        record_end(folder, copied_journal, **wrong)
        may_miss(copy)
        refused(copy, "this is a copy")
    record_end(folder, copied_journal, early=second)
    is_whole(copy)


def test_recover_of_a_copy_keeps_a_journal_in_another_directory():
    journals = mp.fresh("journals")
    with Victim(MEMPROF_JOURNAL_DIR=journals) as victim:
        victim.kill()
    journal = os.path.join(journals, f"{victim.pid}.zst.journal")
    log, = copied(victim.log)
    beside = shutil.copy(victim.log, victim.log + ".second.zst")
    before = contents(journal)
    for copy in (log, beside):
        for result in recovered(copy), memprof_report("log", "recover", copy):     # the log is complete after that
            mp.check("it belongs to the log from which this one was copied" in result.stderr, f"nothing is said of the journal: {result}")
            mp.check(contents(journal) == before, "the journal was changed")
    recovered(victim.log)
    missing(journal)


def test_recover_removes_the_journal_that_a_killed_recover_left():
    log, journal = killed()
    os.link(journal, journal + ".kept")
    recovered(log)
    os.rename(journal + ".kept", journal)
    mp.check("already complete" in memprof_report("log", "recover", log).stdout, "the log has no end")
    missing(journal)


# ---- neighbours


def test_recover_refuses_a_symlink():
    log, journal = killed()
    os.symlink(log, log + ".link.zst")
    refused(log + ".link.zst", "this is a link")
    there(journal)
    target, = copied(log)
    os.rename(log, log + ".away")
    os.symlink(target, log)
    refused(log, "this is a link")


def test_recover_refuses_a_log_with_two_hard_links():
    log, _ = killed()
    os.link(log, log + ".link")
    refused(log, "hard link")


def test_recover_does_not_block_on_a_fifo():
    log, journal = killed()
    os.unlink(journal)
    os.mkfifo(journal)
    mp.check("no journal found" in memprof_report("log", "recover", log).stdout, "a FIFO is no journal")
    reports(log, "INCOMPLETE")
    os.unlink(log)
    os.mkfifo(log)
    refused(log, "not a regular file")
    mp.equal(memprof_report("peaks", log).returncode, 1, "status of a report on a FIFO")


def test_recover_ignores_a_journal_that_is_a_symlink():
    log, journal = killed()
    os.rename(journal, journal + ".away")
    os.symlink(journal + ".away", journal)
    mp.check("no journal found" in memprof_report("log", "recover", log).stdout, "a link was followed")
    there(journal + ".away")


def test_recover_does_not_wait_for_locks_of_other_processes():
    log, journal = killed()
    with open(log, "rb") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        with open(journal, "r+b") as j:
            fcntl.lockf(j, fcntl.LOCK_EX)
            reports(log, "the process ended: killed, or ended by exit_group")
            refused(log, f"process {os.getpid()} has locked this file")
            fcntl.lockf(j, fcntl.LOCK_UN)
            fcntl.fcntl(j, F_OFD_SETLK, FLOCK.pack(fcntl.F_WRLCK, 0, 0, 2, 0))
            reports(log, "the process ended: killed, or ended by exit_group")
            refused(log, "another memprof-report log recover, or another process, has locked this file")
        recovered(log)
    missing(journal)


def test_recover_refuses_logs_of_other_users_that_reports_can_read():
    as_root()
    log, journal = killed()
    for file in (log, journal):
        os.chown(file, NOBODY, -1)
    reports(log, "the process ended: killed, or ended by exit_group")
    refused(log, f"belongs to another user ({NOBODY})")
    there(journal)


def test_recover_ignores_a_journal_of_another_user():
    as_root()
    log, journal = killed()
    os.chown(journal, NOBODY, -1)
    mp.check("no journal found" in memprof_report("log", "recover", log).stdout, "the journal was used")
    there(journal)


def test_recover_refuses_a_directory_that_others_can_write():
    log, journal = killed()
    folder = os.path.dirname(log)
    os.chmod(folder, 0o777)
    refused(log, "every user can change its directory")
    if os.getuid() == 0:
        os.chmod(folder, 0o755)
        os.chown(folder, NOBODY, -1)
        refused(log, "its directory belongs to another user")
        os.chown(folder, 0, -1)
    there(journal)
    os.chmod(folder, 0o1777)
    recovered(log)
    missing(journal)


def test_recover_does_not_change_a_log_that_a_reader_has_open():
    log, _ = killed()
    with open(log, "rb") as f:
        before = f.read()
        os.chmod(log, 0o640)
        recovered(log)
        f.seek(0)
        mp.check(f.read() == before, "the file that was replaced has changed")
    mp.equal(os.stat(log).st_mode & 0o777, 0o640, "mode")
    mp.equal(os.listdir(os.path.dirname(log)), [os.path.basename(log)], "remaining files")


if __name__ == "__main__":
    mp.main()
