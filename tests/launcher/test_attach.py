"""memprof attach records a running process and detaches from it without harm, or refuses it and leaves it as it was."""
import ctypes
import os
import platform
import random
import select
import shutil
import signal
import subprocess
import sys

import mp

FAILED, USAGE = 1, 2
NOBODY = 65534
PTRACE_SEIZE, PTRACE_DETACH = 0x4206, 17
PR_SET_PTRACER, ANY = 0x59616d61, ctypes.c_ulong(-1)
libc = ctypes.CDLL(None, use_errno=True)


def may_be_traced():
    """Where Yama restricts ptrace, the target allows every process of its user to trace it."""
    libc.prctl(PR_SET_PTRACER, ANY, 0, 0, 0)


class Target:
    """A running program that obeys lines."""

    def __init__(self, *command, **popen):
        self.process = subprocess.Popen(command or [mp.victim("attach_target")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1, preexec_fn=may_be_traced, **popen)
        self.pid = self.process.pid
        if not command:
            self.tell("drop")       # it has started

    def tell(self, line):
        """Lets the program do something, and waits until it is done."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        mp.equal(self.process.stdout.readline(), "done\n", f"the answer to {line!r}")

    def end(self, status=0):
        """Checks that the program is healthy."""
        self.process.stdin.close()
        mp.equal(self.process.wait(timeout=mp.TIMEOUT), status, "exit status of the program")
        self.process.stdout.close()

    def state(self):
        """Returns its tracer, its signals, its libraries, and whether it is stopped."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as f:
            lines = [line for line in f if line.startswith(("TracerPid", "SigBlk", "SigIgn", "SigCgt", "State:\tT"))]
        with open(f"/proc/{self.pid}/maps", encoding="ascii") as f:
            return lines + sorted({line.split()[-1] for line in f if ".so" in line})


def memprof(*arguments, **popen):
    if platform.machine() != "x86_64":
        raise mp.Skip("memprof attach supports 64-bit x86 only")
    clean = {k: v for k, v in os.environ.items() if not k.startswith("MEMPROF_") or k == "MEMPROF_LIB"}
    return subprocess.run([os.environ["MEMPROF"], *map(str, arguments)], env=clean, cwd=mp.folder, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=mp.TIMEOUT, **popen)


def attach(target, *options):
    """Attaches, again if no thread was at a safe place."""
    for _ in range(20):
        result = memprof("attach", "-o", "logs", *options, target.pid)
        if "try again" not in result.stderr:
            break
    mp.check(result.returncode == 0, result.stderr)
    return result.stderr


def detach(target):
    for _ in range(20):
        result = memprof("detach", target.pid)
        if "try again" not in result.stderr:
            break
    mp.check(result.returncode == 0, result.stderr)
    return result.stderr


def log():
    """Returns the log of the test's folder."""
    return mp.Logs(os.path.join(mp.folder, "logs")).one()


def complete(found):
    """Checks that nothing that happened between attach and detach is missing. Blocks from before may be freed."""
    mp.check(found.exit == 0 and found.json["complete"], f"{found.path} is not complete")
    for key in ("lost_events", "missed_frees", "damaged_places", "missing_frames", "torn_events"):
        mp.equal(found.json[key], 0, key)
    return found


def refused(target, words, **popen):
    """Checks that the process is refused for this reason, and is as it was."""
    before = target.state()
    result = memprof("attach", "-o", "logs", target.pid, **popen)
    mp.equal(result.returncode, FAILED, f"status ({result.stderr})")
    mp.check(words in result.stderr, f"{words!r} is not in: {result.stderr}")
    mp.equal(target.state(), before, "state of the process")


# ---- recording

def test_blocks_between_attach_and_detach_are_recorded_exactly():
    target = Target()
    target.tell("keep 10 5000")
    attach(target)
    target.tell("keep 1000 6000")
    detach(target)
    target.tell("keep 10 5000")
    heap = complete(log()).heap()
    mp.equal((heap["allocations"], heap["frees"]), (1000, 0), "allocations and frees")
    mp.equal(log().at_end().ranges()[""]["bytes_at_peak"], 6000000, "bytes at the end")
    target.end()


def test_busy_threads_are_recorded_and_stay_healthy():
    target = Target()
    target.tell("threads 8")
    for _ in range(5):
        attach(target)
        target.tell("keep 100 6000")
        detach(target)
    target.end()
    logs = mp.Logs(os.path.join(mp.folder, "logs")).all()
    mp.equal(len(logs), 5, "logs")
    for found in logs:
        complete(found)
        heap = found.heap()
        mp.check(heap["allocations"] > 100, heap)
        before = found.ranges()["(allocated before the attach)"]["bytes_at_peak"]
        # each thread keeps at most 64 blocks of at most 1 KiB
        mp.within(heap["peak_bytes"] - before, 100 * 6000, 100 * 6000 + 8 * 64 * 1024, "peak of blocks since the attach")


def test_blocks_from_before_the_attach_are_one_row_that_shrinks():
    for mode in "all", "large":
        target = Target()
        target.tell("keep 1000 100000")
        attach(target, "--host", mode, "-o", mode)
        target.tell("drop")
        target.tell("keep 10 6000")
        detach(target)
        target.end()
        found = complete(mp.Logs(os.path.join(mp.folder, mode)).one())
        before, = [r for path, r in found.ranges().items() if path == "(allocated before the attach)"]
        mp.within(before["bytes_at_peak"], 100000 * 1000, 101 * 1000 * 1000, f"{mode}: bytes before the attach")
        mp.equal((found.json["unmatched_frees"], found.heap()["failures"]), (0, 0), f"{mode}: unmatched frees, failures")
        mp.within(found.heap()["end_bytes"], 60000, 160000, f"{mode}: bytes at the end")


def test_blocks_from_before_that_realloc_moves_leave_their_row():
    target = Target()
    target.tell("keep 100 100000")
    attach(target)
    target.tell("move 150000")
    detach(target)
    target.end()
    found = complete(log())
    end = found.at_end().ranges()
    mp.within(end["(allocated before the attach)"]["bytes_at_peak"], 0, 100000, "bytes from before at the end")
    mp.within(found.heap()["end_bytes"], 100 * 150000, 100 * 150000 + 100000, "bytes at the end")


def test_python_has_its_own_call_stacks():
    target = Target(sys.executable, "-u", "-c", "import sys\ndef grow(n):\n    return bytearray(n)\nprint('done')\n"
                    "for line in sys.stdin:\n    exec(line)\n    print('done')\n")
    mp.equal(target.process.stdout.readline(), "done\n", "start")
    attach(target)
    target.tell("kept = grow(50000000)")
    detach(target)
    complete(log())
    report = subprocess.run([os.environ["MEMPROF_REPORT"], "peaks", "--by", "python", log().path], text=True, stdout=subprocess.PIPE,
                            timeout=mp.TIMEOUT, check=True).stdout
    mp.check("grow" in report, report)
    target.end()


def test_libraries_opened_after_the_attach_are_recorded():
    target = Target()
    attach(target)
    target.tell("load " + mp.victim("attach_plugin.so"))
    detach(target)
    heap = complete(log()).heap()
    mp.check(heap["end_bytes"] >= 200 * 7000, f"{heap['end_bytes']} bytes, {heap['allocations']} allocations")
    target.end()


def test_duration_detaches_by_itself_and_lists_the_log():
    target = Target()
    result = attach(target, "--duration", "1s")
    mp.check("recording process" in result and "1 log in logs" in result, result)
    mp.check("is not recorded" in memprof("detach", target.pid).stderr, "it is still recorded")
    complete(log())
    target.end()


def test_process_that_ends_while_attached_has_a_complete_log():
    target = Target()
    attach(target)
    target.tell("keep 1000 6000")
    target.end()
    heap = complete(log()).heap()
    mp.within(heap["allocations"], 1000, 1010, "allocations")


def test_dlopen_and_fork_loops_survive():
    target = Target()
    target.tell("loader " + mp.victim("attach_plugin.so"))
    target.tell("forker")
    target.tell("threads 2")
    for _ in range(10):
        attach(target)
        detach(target)
    target.end()
    mp.equal(len(os.listdir(os.path.join(mp.folder, "logs"))), 10, "logs: children have none")


def test_forked_children_are_recorded_only_if_requested():
    code = ("import os, sys\nprint('done')\nfor line in sys.stdin:\n    child = os.fork()\n    if not child:\n        kept = bytearray(30000000)\n"
            "        os._exit(0)\n    os.waitpid(child, 0)\n    print('done')\n")
    for options, logs in ([], 1), (["--children"], 3):
        target = Target(sys.executable, "-u", "-c", code)
        mp.equal(target.process.stdout.readline(), "done\n", "start")
        attach(target, "-o", f"of-{logs}", *options)
        target.tell("fork")
        target.tell("fork")
        detach(target)
        target.end()
        found = mp.Logs(os.path.join(mp.folder, f"of-{logs}")).all()
        mp.equal(sorted(f.json["end"] for f in found), ["_exit"] * (logs - 1) + ["detach"], f"logs with {options}")


def test_status_lists_attached_processes():
    target = Target()
    attach(target)
    mp.check(f"{target.pid}  attach_target  attached  {log().path}\n" in memprof("status").stdout, memprof("status").stdout)
    detach(target)
    mp.check(f"{target.pid}  attach_target  detached  " in memprof("status").stdout, memprof("status").stdout)
    target.end()


def test_status_escapes_what_a_process_says_of_itself():
    path = os.path.join(mp.folder, "\033[31mred")
    shutil.copy(mp.victim("attach_target"), path)
    target = Target(path)
    target.tell("drop")
    attach(target)
    lines = memprof("status").stdout
    mp.check(f"{target.pid}  " in lines and "[31mred" in lines and "\033" not in lines, repr(lines))
    detach(target)
    target.end()


def test_target_survives_a_tracer_that_is_killed():
    target = Target()
    target.tell("threads 4")
    chance = random.Random(43)
    for _ in range(20):
        tracer = subprocess.Popen([os.environ["MEMPROF"], "attach", "-q", "-o", "logs", str(target.pid)], cwd=mp.folder, stderr=subprocess.DEVNULL)
        select.select([], [], [], chance.random() * 0.03)
        tracer.kill()
        tracer.wait()
        target.tell("keep 10 100")
        memprof("detach", target.pid)
    target.end()


# ---- refusals

def test_stopped_processes_are_refused():
    target = Target()
    os.kill(target.pid, signal.SIGSTOP)
    os.waitpid(target.pid, os.WUNTRACED)
    refused(target, "is stopped")
    os.kill(target.pid, signal.SIGCONT)
    target.end()


def test_traced_processes_are_refused():
    target = Target()
    if libc.ptrace(PTRACE_SEIZE, target.pid, 0, 0) != 0:
        raise mp.Skip("this machine does not allow ptrace")
    refused(target, f"process {os.getpid()} traces it")
    target.process.stdin.close()
    target.process.wait(timeout=mp.TIMEOUT)


def test_processes_with_a_seccomp_filter_are_refused():
    target = Target()
    target.tell("filter")
    refused(target, "seccomp filter")
    target.end()


def test_recorded_processes_are_refused():
    target = Target()
    attach(target)
    refused(target, "is recorded already")
    detach(target)
    target.end()
    preloaded = Target(env=mp.environment(mp.fresh()))
    preloaded.tell("keep 1 100")
    refused(preloaded, "is recorded already")
    mp.check("started with memprof" in memprof("detach", preloaded.pid).stderr, "detached")
    preloaded.end()


def test_static_programs_and_ended_processes_are_refused():
    static = subprocess.Popen([mp.victim("static_program"), "wait"], stdin=subprocess.PIPE)
    result = memprof("attach", static.pid)
    mp.check(result.returncode == FAILED and "statically linked" in result.stderr, result.stderr)
    static.kill()
    os.waitid(os.P_PID, static.pid, os.WEXITED | os.WNOWAIT)
    result = memprof("attach", static.pid)
    mp.check(result.returncode == FAILED and "has ended" in result.stderr, result.stderr)
    static.wait()
    result = memprof("attach", static.pid)
    mp.check(result.returncode == FAILED and "no such process" in result.stderr, result.stderr)


def test_programs_with_their_own_malloc_are_refused():
    own = subprocess.Popen([mp.victim("own_malloc"), "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    own.stdout.readline()
    result = memprof("attach", own.pid)
    mp.check(result.returncode == FAILED and "defines malloc itself" in result.stderr, result.stderr)
    own.stdin.close()
    own.stdout.close()
    own.wait(timeout=mp.TIMEOUT)


def test_processes_of_other_users_are_refused():
    if os.geteuid() != 0:
        raise mp.Skip("only root can become another user")
    target = Target()
    os.chmod(mp.folder, 0o777)
    refused(target, "belongs to another user", user=NOBODY, group=NOBODY, extra_groups=[])
    target.end()


def test_wrong_use_is_a_usage_error():
    for arguments in (["attach"], ["attach", "x"], ["attach", "1", "2"], ["attach", "--duration", "soon", "1"], ["detach"]):
        result = memprof(*arguments)
        mp.equal(result.returncode, USAGE, f"{arguments}: {result.stderr}")


if __name__ == "__main__":
    mp.main()
