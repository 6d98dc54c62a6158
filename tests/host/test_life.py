"""Whether a process lives: what its journal says, wherever the question comes from."""
import collections
import fcntl
import os
import signal
import struct
import subprocess
import sys

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
    """Does nobody hold its first byte?"""
    with open(journal, "rb") as f:
        answer = fcntl.fcntl(f, F_OFD_GETLK, FLOCK.pack(fcntl.F_WRLCK, 0, 0, 1, 0))
    return FLOCK.unpack(answer)[0] == fcntl.F_UNLCK


class Victim:
    """A Python program under memprof that does something, and then waits; its logs, its journal."""

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
        except ProcessLookupError:      # the test has ended all of it
            pass
        self.process.communicate()

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


def holds(journal):
    if not head(journal).flags & LOCKED:
        raise mp.Skip("no file system here whose locks last as long as a mapping")
    mp.check(not free(journal), "the journal of a living process is not locked")


def test_the_journal_is_locked_until_the_process_is_gone():
    with Victim() as victim:
        holds(victim.journal)
        victim.kill()
        mp.check(free(victim.journal), "the lock outlived its process")


def test_a_child_does_not_keep_its_parents_journal_locked():
    with Victim("if os.fork() == 0: time.sleep(1000)") as victim:
        holds(victim.journal)
        victim.kill()
        mp.check(free(victim.journal), "a child keeps the lock")


def test_the_journal_is_locked_again_after_an_exec_that_failed():
    script = "try: os.execv('/no/such/program', ['x'])\nexcept OSError: pass"
    with Victim(script) as victim:
        holds(victim.journal)
        mp.equal(head(victim.journal).self_ino, os.stat(victim.journal).st_ino, "the journal's own inode")
        victim.kill()
        mp.check(free(victim.journal), "the lock outlived its process")


def stat_field(pid, n):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return int(f.read().rsplit(")", 1)[1].split()[n - 3])


def test_a_journal_says_whose_it_is():
    with Victim() as victim:
        h = head(victim.journal)
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
            mp.equal(h.boot.hex(), f.read().strip().replace("-", ""), "boot")
        mp.equal(h.pidns, os.stat(f"/proc/{victim.pid}/ns/pid").st_ino, "namespace of process numbers")
        mp.equal(h.timens, os.stat(f"/proc/{victim.pid}/ns/time").st_ino, "namespace of time")
        mp.equal(h.started, stat_field(victim.pid, 22), "start")
        for file, dev, ino in ((victim.journal, h.self_dev, h.self_ino), (victim.log, h.log_dev, h.log_ino)):
            mp.equal((dev, ino), (os.stat(file).st_dev, os.stat(file).st_ino), file)


def test_a_journal_beats_while_nothing_happens():
    with Victim("x = bytearray(32 << 20)") as victim:
        seen = set()
        mp.wait_for(lambda: seen.add(head(victim.journal).beat) or len(seen) >= 3)
        mp.check(min(seen) >= head(victim.journal).s1, "a beat before the start")


if __name__ == "__main__":
    mp.main()
