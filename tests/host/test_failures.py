"""memprof's own failures: the program's result is what it is without memprof, and what was lost is said."""
import ctypes
import os
import resource
import stat
import subprocess

import mp

MIB = 1 << 20
WORK = [mp.victim("work"), "300000"]


def unharmed(env=None, **popen):
    """Runs the work program in trouble: its status and output are those of a bare run."""
    status, out, _ = mp.bare(WORK)
    result = mp.run(WORK, env=env, **popen)
    mp.equal((result.status, result.out), (status, out), "the program's result")
    return result


def said(result, word):
    mp.check(word in result.err, f"not said: {word} in {result.err}")


def honest(result):
    """Every event is in the log, or the report says how many are not."""
    for log in result.logs.all():
        recorded = sum(h["allocations"] + h["frees"] for h in log.json["heaps"])
        missing = log.json["lost_events"] or not log.json["complete"]
        mp.check(recorded >= 600000 or missing, f"{recorded} events and not a word of what is missing")


def small_disk(size):
    """A tmpfs of its own; unmounted when the test's process is gone."""
    place = mp.fresh("disk")
    libc = ctypes.CDLL(None, use_errno=True)
    namespace = 0x00020000      # CLONE_NEWNS
    if libc.unshare(namespace) != 0 or subprocess.run(["mount", "--make-rprivate", "/"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise mp.Skip("needs the right to mount")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], stderr=subprocess.DEVNULL, check=False).returncode:
        raise mp.Skip("needs the right to mount")
    return place


def on_small_disk(size):
    """The log's folder is too small; the journal finds another place or none."""
    place = small_disk(size)
    result = unharmed(env={"MEMPROF_OUT": os.path.join(place, "%p.zst")})
    logs = mp.Logs(place)
    honest(mp.Result(0, result.out, result.err, logs))
    return result, logs


def test_full_disk():
    result, logs = on_small_disk(64 << 10)
    if logs.paths():
        log = logs.one()
        mp.check(log.exit == mp.INCOMPLETE, "a log that lost events is called whole")
    mp.check(b" lost" in result.err or b"cannot" in result.err, f"nothing said: {result.err}")


def test_full_disk_from_the_start():
    place = small_disk(64 << 10)
    with open(os.path.join(place, "filler"), "wb") as f:
        try:
            f.write(bytes(1 << 20))
        except OSError:
            pass
    result = unharmed(env={"MEMPROF_OUT": os.path.join(place, "%p.zst")})
    said(result, b"memprof: cannot")


def test_no_room_for_a_journal_anywhere():
    """Chunks are anonymous memory then, and memprof says what that means."""
    place = small_disk(256 << 10)
    for other in ("/dev/shm", "/tmp"):
        if not place.startswith(other):
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", other], check=True)
    logs = os.path.join(place, "logs")
    result = unharmed(env={"MEMPROF_OUT": os.path.join(logs, "%p.zst")})
    said(result, b"journal")


def test_unwritable_folder():
    for where in ("/proc/%p.zst", "/dev/null/%p.zst", "/sys/%p.zst"):
        said(unharmed(env={"MEMPROF_OUT": where}), b"memprof: cannot")


def test_folder_that_goes_away():
    """The log and its journal are deleted while the program runs."""
    logs = mp.fresh()
    argv = [mp.victim("threads"), "short", "2000"]
    process = mp.start(argv, logs, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    mp.equal(process.stdout.readline(), b"done\n", "the victim")
    for path in mp.Logs(logs).paths() + mp.Logs(logs).journals():
        os.unlink(path)
    mp.finish(process, argv, logs)


def test_closed_stderr():
    result = unharmed(preexec_fn=lambda: os.close(2), stderr=None)
    mp.whole(result.logs.one())


def test_all_standard_descriptors_closed():
    result = mp.run(WORK, preexec_fn=lambda: os.closerange(0, 3), stdin=None, stdout=None, stderr=None)
    mp.whole(result.logs.one())


def test_no_descriptors():
    said(unharmed(preexec_fn=mp.limit(resource.RLIMIT_NOFILE, 3)), b"memprof: ")


def test_few_descriptors():
    mp.whole(unharmed(preexec_fn=mp.limit(resource.RLIMIT_NOFILE, 4)).logs.one())


def test_limited_addresses():
    """RLIMIT_AS: memprof takes little, and what it cannot have costs events, not the program."""
    for limit in (40 * MIB, 80 * MIB, 400 * MIB):
        result = unharmed(preexec_fn=mp.limit(resource.RLIMIT_AS, limit))
        honest(result)


def test_limited_file_size():
    """A write beyond RLIMIT_FSIZE would kill the program by SIGXFSZ."""
    for limit in (0, 4096, 100000, MIB):
        result = unharmed(preexec_fn=mp.limit(resource.RLIMIT_FSIZE, limit))
        honest(result)
        mp.check(not result.logs.paths() or max(map(os.path.getsize, result.logs.paths())) <= limit, f"log beyond {limit}")


def test_no_more_threads():
    """RLIMIT_NPROC: the encoder cannot start; the program's threads encode.  It binds users other than root."""
    if os.getuid() != 0:
        mp.whole(unharmed(preexec_fn=mp.limit(resource.RLIMIT_NPROC, 1)).logs.one())
        return
    logs = mp.fresh()
    os.chmod(mp.folder, 0o755)
    os.chmod(logs, stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO)

    def nobody():
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        os.setuid(65534)

    if subprocess.run(WORK, preexec_fn=nobody, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
        raise mp.Skip("another user cannot run what was built here")
    result = mp.run(WORK, env={"MEMPROF_OUT": os.path.join(logs, "%p.zst")}, preexec_fn=nobody)
    mp.equal(result.out, mp.bare(WORK)[1], "the program's result")
    mp.whole(mp.Logs(logs).one())


if __name__ == "__main__":
    mp.main()
