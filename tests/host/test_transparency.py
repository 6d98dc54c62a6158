"""A program cannot observe memprof: not by errno, by its descriptors, or by other calls."""
import os
import select
import signal
import subprocess

import mp


def test_errno_is_the_same_as_without_memprof():
    result = mp.run([mp.victim("errnos")])
    status, bare, _ = mp.bare([mp.victim("errnos")])
    mp.equal(status, 0, "bare status")
    got, expected = result.out.decode().splitlines(), bare.decode().splitlines()
    mp.equal([line for line in got if line not in expected], [], "rows that differ")
    mp.equal(len(got), len(expected), "rows")


def test_program_sees_no_descriptor_of_memprof():
    result = mp.run([mp.victim("descriptors"), "list"])
    mp.equal(result.out, mp.bare([mp.victim("descriptors"), "list"])[1], "descriptors")


UNTOUCHED = b"0 wrong numbers, 0 other files, 0 bytes changed\n"


def test_program_keeps_its_descriptors_and_files_while_the_pool_grows():
    for how in ([], ["fork"], ["_fork"]):
        result = mp.run([mp.victim("descriptor_numbers"), "100000", *how], env={"MEMPROF_MIN_RSS": "0"})
        mp.equal(result.out, UNTOUCHED, f"numbers and files {how}")


def slow_program_keeps_its_descriptors_and_files_in_1000_runs():
    for run in range(1000):
        how = ([], ["fork"], ["_fork"])[run % 3]
        result = mp.run([mp.victim("descriptor_numbers"), "20000", *how], env={"MEMPROF_MIN_RSS": "0", "MEMPROF_HOST": ("all", "off")[run % 2]})
        mp.equal(result.out, UNTOUCHED, f"numbers and files, run {run} {how}")


def test_program_keeps_its_descriptors_with_another_allocator():
    jemalloc = mp.ALLOCATORS["jemalloc"]
    if mp.bare(["/bin/true"], env={"LD_PRELOAD": jemalloc})[2]:
        raise mp.Skip(f"{jemalloc} is not installed")
    result = mp.run([mp.victim("descriptor_numbers"), "100000"], before=[jemalloc])
    mp.equal(result.out, UNTOUCHED, "numbers and files")


def test_unshare_and_setns_work_as_without_memprof():
    """memprof ends its threads before unshare and setns, and starts them again. Blocks of a child are also recorded."""
    argv = [mp.victim("namespaces")]
    status, out, _ = mp.bare(argv)
    result = mp.run(argv, env={"MEMPROF_MIN_RSS": "0"})
    mp.equal((result.status, result.out), (status, out), "status and output")
    for log in result.logs.all():
        mp.whole(log)
        mp.equal(log.range("work")["allocations"], 400000, "blocks")


def files_untouched(how, **popen):
    """The program's file contains only the program's output, whatever its descriptor is, and the log is complete."""
    path = os.path.join(mp.fresh("user"), "file")
    result = mp.run([mp.victim("descriptors"), how, path], **popen)
    with open(path, encoding="ascii") as f:
        mp.equal(f.read(), "".join(f"line {i}\n" for i in range(100)), "the user's file")
    log = next(log for log in result.logs.all() if "work" in log.ranges())
    mp.whole(log)
    mp.equal(log.range("work")["allocations"], 100000, "blocks")


def test_log_and_user_file_survive_closefrom():
    files_untouched("closefrom")


def test_log_and_user_file_survive_reuse_of_descriptor_0():
    files_untouched("close0")


def test_log_and_user_file_survive_closefrom_in_a_daemon():
    files_untouched("daemonise")


def test_shell_script_keeps_its_file_on_descriptor_3():
    path = os.path.join(mp.fresh("user"), "file")
    script = 'exec 3>"$0"; echo one >&3; "$1" list >/dev/null; echo two >&3; exec 3>&-'
    result = mp.run(["/bin/sh", "-c", script, path, mp.victim("descriptors")])
    with open(path, encoding="ascii") as f:
        mp.equal(f.read(), "one\ntwo\n", "the user's file")
    mp.equal(len(result.logs.paths()), 2, "logs")
    for log in result.logs.all():
        mp.whole(log)


def test_pipe_reader_sees_eof_when_the_program_closes_stdout():
    """The reader of a pipe sees its end as soon as the program has closed it, because no thread of memprof keeps it
    open."""
    logs = mp.fresh()
    argv = [mp.victim("descriptors"), "eof"]
    process = mp.start(argv, logs, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    readable, _, _ = select.select([process.stdout], [], [], 20)
    if not readable:
        os.killpg(process.pid, signal.SIGKILL)
    mp.check(readable, "the reader waits for ever")
    mp.equal(process.stdout.read(), b"", "output")
    mp.finish(process, argv, logs)


def test_memprof_prints_only_one_line_on_stderr():
    """memprof prints nothing on stdout and one line on stderr, and the program's result is unchanged."""
    status, out, err = mp.bare([mp.victim("work"), "30000"])
    result = mp.run([mp.victim("work"), "30000"])
    mp.equal((result.status, result.out), (status, out), "result")
    mp.equal(err, b"", "stderr without memprof")
    mp.equal(len(result.err.splitlines()), 1, f"lines on stderr: {result.err}")


if __name__ == "__main__":
    mp.main()
