"""If memprof fails, the program's result is the same as without memprof, and the log or a message shows the loss."""
import contextlib
import ctypes
import fcntl
import os
import resource
import stat
import subprocess
import sys

import mp
from stacks import report

MIB = 1 << 20
WORK = [mp.victim("work"), "300000"]
ALONE = 60123       # a user with no other process


def unharmed(env=None, **popen):
    """Runs the work program under the condition and checks that its status and output are those of a run without
    memprof."""
    status, out, _ = mp.bare(WORK)
    result = mp.run(WORK, env=env, **popen)
    mp.equal((result.status, result.out), (status, out), "the program's result")
    return result


def warns(result, word):
    mp.check(word in result.err, f"no {word} in {result.err}")


def honest(result):
    """Checks that every event is in the log or counted as lost, or that the log is marked as incomplete."""
    for log in result.logs.all():
        known = sum(h["allocations"] + h["frees"] for h in log.json["heaps"]) + log.json["lost_events"]
        mp.check(known >= 600000 or not log.json["complete"], f"{known} events and not a word of what is missing")
        mp.check(log.exit == mp.INCOMPLETE or not log.json["lost_events"], "a log that lost events is called whole")


def mount(*arguments):
    if subprocess.run(["mount", *arguments], stderr=subprocess.DEVNULL, check=False).returncode:
        raise mp.Skip("needs the right to mount")


def own_mounts():
    """Gives the calling process a separate mount namespace."""
    if ctypes.CDLL(None).unshare(0x00020000) != 0:      # CLONE_NEWNS
        raise mp.Skip("needs the right to mount")
    mount("--make-rprivate", "/")


@contextlib.contextmanager
def small_disk(size):
    """Mounts a tmpfs of this size."""
    place = mp.fresh("disk")
    own_mounts()
    mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", place)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def test_full_disk_changes_no_result_and_losses_are_counted():
    """The log's folder becomes full. The journal is in another folder."""
    with small_disk(64 << 10) as place:
        result = unharmed(env={"MEMPROF_OUT": os.path.join(place, "%p.zst")})
        log = mp.Logs(place).one()
        mp.equal(log.exit, mp.INCOMPLETE, "memprof-report's exit code")
        honest(result._replace(logs=mp.Logs(place)))
        mp.check(b" 0 lost" not in result.err, f"nothing said: {result.err}")


def test_full_disk_at_the_start_is_warned_about():
    with small_disk(64 << 10) as place:
        with open(os.path.join(place, "filler"), "wb", buffering=0) as f, contextlib.suppress(OSError):
            while f.write(bytes(4096)):
                pass
        warns(unharmed(env={"MEMPROF_OUT": os.path.join(place, "%p.zst")}), b"memprof: cannot")


def test_missing_journal_is_warned_about():
    """Chunks are then anonymous memory, and memprof warns about the consequences."""
    def nowhere():
        own_mounts()
        mount("-t", "tmpfs", "-o", "size=256k", "tmpfs", "/dev/shm")
        mount("--bind", "/tmp", "/tmp")
        mount("-o", "remount,bind,ro", "/tmp")

    with small_disk(4096):      # skips the test if mounting is not possible
        warns(unharmed(env={"MEMPROF_OUT": "/dev/shm/%p.zst"}, preexec_fn=nowhere), b"journal")


def test_unwritable_log_directory_is_warned_about():
    for where in ("/proc/%p.zst", "/dev/null/%p.zst", "/sys/%p.zst"):
        warns(unharmed(env={"MEMPROF_OUT": where}), b"memprof: cannot")


def test_log_path_that_is_a_device_or_directory_is_warned_about():
    place = mp.fresh("folder")
    for where in ("/dev/null", place):
        warns(unharmed(env={"MEMPROF_OUT": where}), f"memprof: cannot create the log {where}: File exists\n".encode())
    mp.equal([name for name in os.listdir("/dev") if name.startswith("null.")], [], "files beside /dev/null")


def test_relative_log_path_in_a_deleted_directory_is_warned_about():
    """The program's directory was deleted, so a relative path cannot be resolved."""
    def gone():
        place = mp.fresh("gone")
        os.chdir(place)
        os.rmdir(place)

    warns(unharmed(env={"MEMPROF_OUT": "%e.zst"}, preexec_fn=gone), b"memprof: cannot create the log work.zst: No such file or directory\n")


def test_deleted_log_and_journal_count_as_lost_events():
    """The log and its journal are deleted while the program runs."""
    logs = mp.fresh()
    argv = [mp.victim("threads"), "short", "2000"]
    process = mp.start(argv, logs, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    mp.equal(process.stdout.readline(), b"done\n", "the victim")
    for path in mp.Logs(logs).paths() + mp.Logs(logs).journals():
        os.unlink(path)
    err = mp.finish(process, argv, logs).err
    mp.check(b"memprof: 0 events" in err and b" 0 lost" not in err, f"events of a lost log are not reported as lost: {err}")


def test_log_replaced_by_a_fifo_does_not_block_the_exit():
    """The log is a FIFO without a reader. Opening it must not wait."""
    logs = mp.fresh()
    argv = [mp.victim("threads"), "short", "2"]
    process = mp.start(argv, logs, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    mp.equal(process.stdout.readline(), b"done\n", "the victim")
    path, = mp.Logs(logs).paths()
    os.unlink(path)
    os.mkfifo(path)
    try:
        _, err = process.communicate(timeout=mp.TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    mp.check(b" 0 lost" not in err and process.returncode == 0, f"status {process.returncode}: {err}")


def test_full_stderr_pipe_does_not_block_the_exit():
    """stderr is a full pipe. Printing the line at the end must not wait."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writer, bytes(4096))
    mp.whole(mp.run(["true"], stderr=writer).logs.one())
    os.close(reader)
    os.close(writer)


def test_program_with_closed_stderr_is_recorded():
    result = unharmed(preexec_fn=lambda: os.close(2), stderr=None)
    mp.whole(result.logs.one())


def test_program_without_standard_descriptors_is_recorded():
    result = mp.run(WORK, preexec_fn=lambda: os.closerange(0, 3), stdin=None, stdout=None, stderr=None)
    mp.whole(result.logs.one())


def test_losses_are_counted_if_no_descriptor_can_be_opened():
    """The program lowers its own limit of open files. If it were lower from the start, the loader could not open
    libraries."""
    code = ("import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3));"
            "x = [bytes(1000 + i % 7) for i in range(300000)]; print(len(x))")
    result = mp.run([sys.executable, "-S", "-c", code], env={"PYTHONMALLOC": "malloc"})
    mp.equal(result.out, b"300000\n", "the program's result")
    log = result.logs.one()
    recorded = log.heap()["allocations"]
    mp.check(recorded >= 300000 or log.exit == mp.INCOMPLETE, f"{recorded} events and not a word of what is missing")


def test_running_encoder_needs_no_new_descriptor():
    """The encoder has its own descriptor table. A second encoder that starts later cannot open the log, so it must not
    take any events."""
    for _ in range(3):
        log = mp.run([mp.victim("descriptors"), "forbid"]).logs.one()
        mp.whole(log)
        mp.check(log.heap()["allocations"] >= 400000, f"{log.heap()['allocations']} blocks")


def test_program_with_4_descriptors_is_recorded():
    mp.whole(unharmed(preexec_fn=mp.limit(resource.RLIMIT_NOFILE, 4)).logs.one())


def test_address_space_limit_changes_no_result():
    """With RLIMIT_AS memprof uses little memory. If it cannot get memory, events are lost, and the program
    continues."""
    for limit in (40 * MIB, 80 * MIB, 400 * MIB):
        result = unharmed(preexec_fn=mp.limit(resource.RLIMIT_AS, limit))
        honest(result)


def test_memory_limit_set_later_leaves_the_memory_to_the_program():
    """The program sets a limit for itself. memprof uses little memory at that time, and almost no more afterwards."""
    for which in ("as", "data"):
        argv = [mp.victim("memory_limit"), which, "24"]
        blocks = int(mp.bare(argv)[1])
        result = mp.run(argv)
        mp.within(int(result.out), blocks - 4, blocks, f"blocks of 1 MiB under a limit of {which}")
        log = result.logs.one()
        mp.nothing_missing(log)
        mp.within(log.heap()["allocations"], blocks - 4, blocks + 10, "blocks recorded")


def loses_and_counts(log, events):
    """Every event is either in the log or counted as lost."""
    known = sum(h["allocations"] + h["frees"] for h in log.json["heaps"]) + log.json["lost_events"]
    mp.check(log.json["lost_events"] and known >= events, f"{known} events, {log.json['lost_events']} of them lost")


def test_threads_without_event_memory_count_lost_events():
    """There are more threads than places for them, and each thread keeps its place. No place is freed, so memprof must
    not wait for one repeatedly."""
    if mp.EMULATOR:
        raise mp.Skip("an emulator of the user's mode limits no addresses")
    argv = [mp.victim("memory_shortage"), "200", "5000"]
    status, out, _ = mp.bare(argv)
    result = mp.run(argv, status=None)
    mp.equal((result.status, result.out), (status, out), "the program's result")
    log = result.logs.one()
    loses_and_counts(log, 2 * 200 * 5000)
    reasons = report(log, "log", "info")
    mp.check("more threads at once" not in reasons, f"a thread without a record tried again for each event: {reasons}")


def test_threads_without_memory_reuse_that_of_ended_threads():
    """Places of dead threads are freed once memprof finds that the threads have ended, and new threads wait for
    that."""
    if mp.EMULATOR:
        raise mp.Skip("an emulator of the user's mode limits no addresses")
    result = mp.run([mp.victim("short_lived_threads"), "memory", "100", "100"])
    mp.equal(result.out, b"100\n", "threads")
    log = result.logs.one()
    mp.nothing_missing(log)
    mp.check(sum(h["allocations"] for h in log.json["heaps"]) >= 100 * 100, f"{log.json['heaps']}")


def test_threads_whose_exit_is_invisible_count_lost_events():
    """memprof may not check whether threads live, so their places are never freed. New threads do not wait for places,
    although frames are written."""
    if mp.EMULATOR:
        raise mp.Skip("an emulator of the user's mode has no filters")
    result = mp.run([mp.victim("short_lived_threads"), "tgkill", "600", "10"])
    mp.equal(result.out, b"600\n", "threads")
    log = result.logs.one()
    loses_and_counts(log, 2 * 600 * 10)


def test_memory_refused_before_the_first_frame_loses_no_event():
    """The buffers for frames are reserved in advance. If each thread has a place and some are left, no event is
    lost."""
    if mp.EMULATOR:
        raise mp.Skip("an emulator of the user's mode limits no addresses")
    result = mp.run([mp.victim("memory_shortage"), "8", "20000"])
    log = result.logs.one()
    mp.nothing_missing(log)
    mp.check(sum(h["allocations"] for h in log.json["heaps"]) >= 8 * 20000, f"{log.json['heaps']}")


def test_memprof_takes_at_most_6_mib_of_address_space():
    size = int(mp.bare(["grep", "-E", "VmSize", "/proc/self/status"])[1].split()[1])
    more = int(mp.run(["grep", "-E", "VmSize", "/proc/self/status"]).out.split()[1]) - size
    mp.within(more, 0, 6 << 10, "KiB of addresses beside the program's, with a sampled stack or without")


LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
try: bytearray(1 << 30)
except MemoryError: pass
"""


def test_oom_names_the_rlimit_that_refused_memory():
    log = mp.run([sys.executable, "-S", "-c", LIMITED]).logs.one()
    story = report(log, "oom")
    mp.check("REFUSED" in story and "RLIMIT_AS 1.00 GiB  address space " in story, story)


def test_file_size_limit_changes_no_result():
    """A write beyond RLIMIT_FSIZE would end the program by SIGXFSZ."""
    for limit in (0, 4096, 100000, MIB):
        result = unharmed(preexec_fn=mp.limit(resource.RLIMIT_FSIZE, limit))
        honest(result)
        mp.check(not result.logs.paths() or max(map(os.path.getsize, result.logs.paths())) <= limit, f"log beyond {limit}")


LOSING = """
import os, resource
def write():
    try: os.execv("/bin/true", ["x" * (4 << 20)])
    except OSError: pass
def load(): return bytearray(2 << 20)
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
def again():
    kept.append(load())
    write()
kept = []
for limit in (1, most, most): resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most)); again()
"""


def test_python_stacks_are_named_again_after_a_lost_frame():
    """The program writes all frames before an exec call that fails. The first frames are lost. Later frames contain the
    stacks again. The second block's stack is known only if memprof did not lose a frame before the first block's."""
    log = mp.run([sys.executable, "-S", "-c", LOSING]).logs.one()
    mp.check(log.json["lost_events"] > 0, "nothing lost")
    rows = report(log, "peaks", "--by", "python", "--heap", "host/heap")
    mp.check("load (" in rows, rows)


def test_program_that_can_start_no_thread_is_recorded():
    """With RLIMIT_NPROC no encoder can start, so the program's thread encodes. The limit does not apply to root."""
    if os.getuid() != 0:
        mp.whole(unharmed(preexec_fn=mp.limit(resource.RLIMIT_NPROC, 1)).logs.one())
        return
    logs = mp.fresh()
    os.chmod(mp.folder, 0o755)
    os.chmod(logs, stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO)

    def alone():
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        os.setuid(ALONE)

    try:
        subprocess.run(WORK, preexec_fn=alone, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    except (PermissionError, subprocess.CalledProcessError):
        raise mp.Skip("another user cannot run what was built here") from None
    result = mp.run(WORK, env={"MEMPROF_OUT": os.path.join(logs, "%p.zst")}, preexec_fn=alone)
    mp.equal(result.out, mp.bare(WORK)[1], "the program's result")
    mp.whole(mp.Logs(logs).one())


def test_losses_are_counted_in_a_program_that_sandboxes_itself():
    """A program enters a sandbox early: memprof gets no memory, files, threads or clock."""
    for before in ("100", "5000"):
        result = mp.run([mp.victim("sandbox"), before])
        mp.equal(result.out, b"done\n", "the program's result")
        log = result.logs.one()
        heap = log.heap()
        known = heap["allocations"] + heap["frees"] + log.json["lost_events"]
        mp.check(known >= 200000 or not log.json["complete"], f"{known} events and not a word of what is missing")


def test_hooks_make_no_system_call_that_a_strict_sandbox_kills():
    """In a hook memprof makes only calls that every program makes. Here a look-up of the file system of a mapping would
    be fatal."""
    result = mp.run([mp.victim("strict_sandbox")])
    mp.equal(result.out, b"done\n", "the program's result")
    shared = result.logs.one().heap("host/shm")
    mp.equal((shared["peak_bytes"], shared["allocations"]), (1 << 20, 3), "shared memory, and its mappings")


if __name__ == "__main__":
    mp.main()
