"""memprof's own mappings count against the program's memory limits, but the program's calls have the same results as
without memprof."""
import itertools
import json
import os
import resource
import subprocess

import mp

MIB = 1 << 20
ANOTHER_USER = 60124        # limits do not apply to root
LOCKED = 8 * MIB            # RLIMIT_MEMLOCK of most systems
CURRENT, FUTURE, ON_FAULT = 1, 2, 4     # flags of mlockall


def lockall(*arguments):
    return [mp.victim("mlockall"), *map(str, arguments)]


def another_user():
    """Sets the limit; for preexec_fn."""
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (LOCKED, LOCKED))
    if os.getuid() == 0:
        os.setuid(ANOTHER_USER)


def needs_another_user():
    if mp.EMULATOR:
        raise mp.Skip("an emulator of the user's mode locks no memory")
    os.chmod(mp.folder, 0o755)
    try:
        subprocess.run(lockall(0, 0, 0), preexec_fn=another_user, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    except (OSError, subprocess.SubprocessError):
        raise mp.Skip("another user cannot run what was built here")


def numbers(out):
    return [int(n) for n in out.split()]


def same_as_bare(*arguments):
    """Returns the result, errno, available KiB and locked KiB of both runs."""
    logs = mp.fresh()
    os.chmod(logs, 0o777)
    argv = lockall(*arguments)
    bare = numbers(mp.bare(argv, preexec_fn=another_user)[1])
    result = mp.run(argv, env={"MEMPROF_OUT": os.path.join(logs, "%p.zst")}, preexec_fn=another_user)
    got = numbers(result.out)
    mp.equal(got[:2], bare[:2], f"{argv[1:]}: result and errno of mlockall")
    for n, expected in zip(got[2:], bare[2:]):
        mp.within(n, expected - 128, expected + 128, f"{argv[1:]}: KiB to be mapped and locked, {got} instead of {bare}")
    for log in mp.Logs(logs).all():
        mp.nothing_missing(log)


def test_mlockall_under_the_limit_works_as_without_memprof():
    """Tests the call before the encoder runs, and while it uses memory. Without memprof the program is within the
    limit, with memprof's mappings it is above."""
    needs_another_user()
    flags = (CURRENT, CURRENT | ON_FAULT, CURRENT | FUTURE, CURRENT | FUTURE | ON_FAULT, FUTURE)
    for which, blocks, kib in itertools.product(flags, (0, 300000), (0, 4000)):
        same_as_bare(which, blocks, kib)


def test_mlockall_over_the_limit_fails_as_without_memprof():
    """The call fails as it does without memprof."""
    needs_another_user()
    same_as_bare(CURRENT, 0, 9000)
    same_as_bare(CURRENT | FUTURE, 300000, 9000)


def test_mlockall_in_a_forked_child_works_as_without_memprof():
    """The child has its parent's mappings, including memprof's."""
    needs_another_user()
    same_as_bare(CURRENT, 300000, 3000, "child")
    same_as_bare(CURRENT | FUTURE, 300000, 3000, "child")


def room(stacks=None):
    """Returns the bytes that a program which keeps the encoder busy can map at its end under a limit of 128 MiB."""
    popen = {"preexec_fn": mp.limit(resource.RLIMIT_AS, 128 * MIB)}
    argv = lockall(0, 300000, 0)
    out = mp.run(argv, env={"MEMPROF_STACKS": stacks}, **popen).out if stacks else mp.bare(argv, **popen)[1]
    return numbers(out)[4] << 10


def test_every_stacks_mode_takes_little_address_space():
    """Tests each mode of --stacks."""
    if mp.EMULATOR:
        raise mp.Skip("an emulator of the user's mode limits no addresses")
    bare = room()
    for stacks, limit_mib in (("off", 9), ("large", 9), ("sample", 10), ("all", 11)):
        mp.within(bare - room(stacks), 0, limit_mib * MIB, f"bytes of addresses that --stacks={stacks} takes")


def samples(path):
    done = subprocess.run([os.environ["MEMPROF_REPORT"], "log", "info", "--format", "json", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          timeout=mp.TIMEOUT, check=False)
    return json.loads(done.stdout)["counts"].get("SAMPLE_RSS", 0) if done.stdout else 0


def test_rss_of_an_idle_program_with_much_static_tls_is_sampled():
    """The encoder's stack does not contain the program's thread-local storage."""
    logs = mp.fresh()
    argv = [mp.victim("big_tls")]
    process = mp.start(argv, logs, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    mp.equal(process.stdout.readline(), b"done\n", "the victim")
    path, = mp.Logs(logs).paths()
    before = samples(path)
    mp.wait_for(lambda: samples(path) >= before + 3)
    mp.whole(mp.finish(process, argv, logs).logs.one())


if __name__ == "__main__":
    mp.main()
