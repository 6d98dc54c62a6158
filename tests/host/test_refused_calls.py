"""If the program's seccomp filter refuses system calls that memprof makes, the program ends as it would without
memprof."""
import errno
import glob
import itertools
import os
import re

import mp

REFUSED = mp.victim("refused_calls")
ERRORS = (errno.EPERM, errno.ENOSYS, errno.EACCES)
# of hooks, which are the program's own calls
HOOKED = {"brk", "execveat", "mremap", "shmat", "shmctl", "shmdt", "exit", "exit_group", "setns", "mlock", "mlock2", "mlockall", "munlock", "munlockall"}


def calls():
    return mp.bare([REFUSED, "list"])[1].decode().split()


def same(when, error, names):
    argv = [REFUSED, when, str(error), *names]
    status, out, _ = mp.bare(argv)
    result = mp.run(argv, status=None)
    mp.equal((result.status, result.out), (status, out), f"{' '.join(argv[1:])}: status and output")


def test_refused_call_tests_cover_every_system_call_in_the_sources():
    used = set()
    for source in glob.glob(os.path.join(os.environ["MEMPROF_GUEST"], "**", "*.[ch]"), recursive=True):
        with open(source, encoding="utf-8") as f:
            used.update(re.findall(r"\bSYS_(\w+)", f.read()))
    mp.equal(sorted(used - HOOKED - set(calls())), [], "system calls that the victim does not know")


def test_program_runs_if_any_one_system_call_is_refused():
    for when, error, name in itertools.product(("before", "after"), ERRORS, calls()):
        same(when, error, [name])


def test_no_event_is_lost_if_a_filter_refuses_close_range():
    """Filters of older container engines answer unknown calls in this way."""
    for error in (errno.EPERM, errno.ENOSYS):
        for log in mp.run([REFUSED, "before", str(error), "close_range"], status=None, env={"MEMPROF_MIN_RSS": "0"}).logs.all():
            mp.nothing_missing(log)


def test_program_runs_if_only_a_few_system_calls_are_allowed():
    """Only the calls are allowed that a program with one thread needs to allocate and fork: no clock, files or new
    threads."""
    for error in ERRORS:
        same("only", error, "write exit_group exit brk mmap munmap futex clone clone3 wait4 newfstatat mprotect".split())


def pairs():
    return list(itertools.product(("before", "after"), ERRORS, itertools.combinations(calls(), 2)))


def test_program_runs_if_some_pairs_of_system_calls_are_refused():
    """Tests some of all pairs. The step shares no factor with their number."""
    for when, error, names in pairs()[::97]:
        same(when, error, names)


def slow_program_runs_if_any_pair_of_system_calls_is_refused():
    for when, error, names in pairs():
        same(when, error, names)


if __name__ == "__main__":
    mp.main()
