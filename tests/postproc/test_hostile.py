"""For logs that no program would write, every command ends soon and within its memory, with a message if it cannot continue.

test_hostile.py NAME, with MEMPROF_REPORT, MAKE_HOSTILE_LOG and MEMPROF_PAGE set. Nothing is timed. A hang reaches TIMEOUT."""
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile

REPORT, MAKE = os.environ["MEMPROF_REPORT"], os.environ["MAKE_HOSTILE_LOG"]
PAGE = os.environ["MEMPROF_PAGE"] == "1"        # html is available
TIMEOUT, MEMORY = 20, 2 << 30       # seconds, many times what the slowest needs; bytes, not counting the log itself
COMMANDS = {
    "summary": ["summary"], "peaks": ["peaks", "-fjson"], "python": ["peaks", "--by", "python"], "backward": ["peaks", "--backward-of"], "oom": ["oom"], "insights": ["summary", "--all"],
    "timeline": ["timeline"], "html": ["html", "-o", "/dev/null"], "graphs": ["graphs"], "segments": ["segments"], "steps": ["steps"], "leaks": ["leaks"], "processes": ["processes"],
    "temporary": ["temporary"], "threads": ["peaks", "--by", "thread", "-fjson"], "stacks": ["peaks", "--tree"], "folded": ["peaks", "--tree", "--folded"], "info": ["log", "info"], "verify": ["log", "verify"], "diff": ["diff"],
    "check": ["check", "--max=host/heap=1TiB"], "against": ["check", "--against"], "suggest": ["check", "--suggest"], "breakdown": ["breakdown"],
    "top": ["top"], "pprof": ["export", "--to", "pprof", "-o", "/dev/null"], "perfetto": ["export", "--to", "perfetto", "-o", "/dev/null"],
}
ANY = list(COMMANDS)
COMMANDS["snapshot"] = ["export", "--to", "torch-snapshot", "-o", "/dev/null"]     # for logs with PyTorch
LOGS = {"diff": 2, "against": 2}      # the number of logs that a command needs, if not one
HOST = ["peaks", "timeline", "html", "oom", "leaks", "summary", "top", "pprof", "perfetto"]
DEVICE = ["peaks", "oom", "segments", "breakdown", "insights", "summary"]
# kind of log: number of events, and the commands that do the expensive work
KINDS = {
    "maps_down": (400000, ["peaks", "html", "leaks"]), "maps_remapped": (50000, ["peaks"]), "maps_protected": (200000, ["peaks", "html"]),
    "colliding": (200000, ["peaks", "html", "leaks", "temporary", "threads"]), "colliding_device": (200000, [*DEVICE, "leaks", "snapshot"]), "domains": (60000, ["peaks", "html", "leaks", "perfetto"]),
    "pops_of_nothing": (60000, HOST), "threads_pushing": (100000, [*HOST, "steps", "threads", "insights"]), "carriers": (100000, HOST), "thread_numbers": (50000, [*HOST, "threads"]),
    "deep_paths": (10000, [*HOST, "diff", "against", "suggest", "steps", "temporary", "breakdown", "insights"]), "names": (100000, [*HOST, "diff", "against", "suggest", "steps", "temporary", "insights"]),
    "modules": (200000, ["peaks", "stacks", "pprof"]), "modules_on_stacks": (50000, ["stacks", "html", "leaks", "pprof"]), "stacks": (500, ["stacks", "folded", "html", "leaks", "diff", "against", "pprof"]),
    "sawtooth": (10000, [*DEVICE, "leaks"]), "contexts": (100000, [*DEVICE, "snapshot"]), "handles": (100000, ["peaks", "segments", "html"]), "handles_owed": (100000, ["peaks"]), "pools": (100000, ["peaks"]),
    "executables": (100000, ["graphs", "peaks", "insights"]), "captures": (50000, ["graphs", "segments", "oom", "diff", "against", "insights", "snapshot", "perfetto"]), "communicators": (50000, [*DEVICE, "diff"]),
    "refusals": (20000, ["oom", "html", "insights", "summary", "snapshot"]), "autograd": (1000, ["backward", "breakdown"]), "failures": (100000, HOST),
    "at_once": (200000, ["snapshot"]), "attempts": (40000, DEVICE),
    "crowd": (400000, ["steps", "insights"]), "long_names": (80000, ["peaks", "steps"]), "templates": (20000, ["peaks"]),
    "overflows": (2000, list(COMMANDS)), "totals": (2000, ANY),
}


def limit_memory():
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def report(*arguments, statuses=(0, 3, 4), **more):     # 4: a limit is exceeded
    done = subprocess.run([REPORT, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT,
                          preexec_fn=limit_memory, env={**os.environ, "LC_ALL": "C.UTF-8"}, **more)
    if done.returncode not in statuses:
        sys.exit(f"{arguments}: status {done.returncode}, {done.stderr.decode(errors='replace')}")
    return done


def make(kind, count, path):
    subprocess.run([MAKE, kind, str(count), path], check=True)
    return path


FIRST = 3                               # commands of each kind that logs_of_every_kind_do_not_hang_reports runs
WHOLE = ("overflows", "totals")         # small logs with which it runs all commands


def first_commands():
    """Yields pairs of a kind and its first commands, and commands that no earlier kind has, so that every command
    runs."""
    seen = set()
    for kind, (_, commands) in KINDS.items():
        first = [c for i, c in enumerate(commands) if i < FIRST or c not in seen or kind in WHOLE]
        seen.update(first)
        yield kind, first


def all_commands():
    return ((kind, commands) for kind, (_, commands) in KINDS.items())


def all_end(folder, pairs):
    for kind, commands in pairs:
        log = make(kind, KINDS[kind][0], os.path.join(folder, "log.zst"))
        for command in commands if PAGE else [c for c in commands if c != "html"]:
            report(*COMMANDS[command], *[log] * LOGS.get(command, 1))


def logs_of_every_kind_do_not_hang_reports(folder):
    kinds = subprocess.run([MAKE, "--list"], stdout=subprocess.PIPE, check=True, text=True).stdout.split()
    missing = set(kinds) - set(KINDS) - {"live_blocks"}
    if missing:
        sys.exit(f"no command runs {missing}")
    all_end(folder, first_commands())


def logs_do_not_hang_any_command(folder):
    """Runs each kind with all of its commands."""
    all_end(folder, all_commands())


def log_that_needs_too_much_memory_is_refused(folder):
    log = make("live_blocks", 4000000, os.path.join(folder, "log.zst"))
    done = report("--max-memory=64", "peaks", log, statuses=[1])
    if b"needs more than 64 MiB of memory; raise the limit with memprof-report --max-memory" not in done.stderr:
        sys.exit(f"no reason is given: {done.stderr}")
    report("--max-memory=0", "peaks", log)


def false_zstd_magic_numbers_are_reported_as_damage(folder):
    """Beginnings of zstd frames with valid heads: of nearly the maximum length, and with blocks that expand a lot."""
    head = struct.pack("<IB", 0xFD2FB528, 0x84 | 0x20) + struct.pack("<I", 60 << 20)
    jump = struct.pack("<I", (100000 << 3) | 0)[:3]
    path = os.path.join(folder, "log.zst")
    with open(make("names", 10, path), "ab") as log:
        log.write((head + jump) * 200000 + b"\0\0\0" * 400000)
    done = report("peaks", path, statuses=[3])
    if b"damaged" not in done.stdout:
        sys.exit(f"no warning: {done.stdout}")


def sparse_journal_of_1_tib_is_read_quickly(folder):
    """Reading holes takes neither time nor memory."""
    path = os.path.join(folder, "log.zst.journal")
    head = struct.pack("<8sHHIII16sQ3Q3QIIQQ", b"MEMPROFJ", 1, 1, 4096, 32768, 24, bytes(16), 4242, 1, 1, 1, 2, 2, 2, 1 << 25, 0, 0, 0)
    with open(path, "wb") as journal:
        journal.write(head)
        journal.truncate(1 << 40)
    report("peaks", path, statuses=[3])


def log_truncated_while_it_is_read_is_reported(folder):
    """A symbolic link to a file that is truncated after the reader has read the first of its pages."""
    path = os.path.join(folder, "log.zst")
    make("names", 400000, path)
    size = os.path.getsize(path)
    reader = subprocess.Popen([REPORT, "peaks", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while reader.poll() is None:        # until it has mapped the file
        with open(f"/proc/{reader.pid}/maps") as maps:
            if path in maps.read():
                break
    reader.send_signal(signal.SIGSTOP)
    os.truncate(path, 4096)
    reader.send_signal(signal.SIGCONT)
    out, err = reader.communicate(timeout=TIMEOUT)
    if reader.returncode == 0 and size > 4096:
        return                          # the reader was faster
    reported = reader.returncode == 1 and b"truncated while it was read" in err
    if not reported and not (reader.returncode == 3 and b"cut at offset" in out):       # or truncated between two readings
        sys.exit(f"status {reader.returncode}: {err}")


TESTS = [logs_of_every_kind_do_not_hang_reports, logs_do_not_hang_any_command, log_that_needs_too_much_memory_is_refused, false_zstd_magic_numbers_are_reported_as_damage, sparse_journal_of_1_tib_is_read_quickly, log_truncated_while_it_is_read_is_reported]

# Characters that a terminal interprets or that are invisible.
UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe0f\ufeff\ufff9\U000e0000-\U000e007f]")


def words(command):
    """Returns the words of a command, if they are not only its name."""
    return COMMANDS[command] if command in ("check", "against") else [command]


def nothing_unseen(what, text):
    found = UNSEEN.search(text)
    if found:
        sys.exit(f"{what}: {found.group()!r} in {text[max(0, found.start() - 60):found.end() + 60]!r}")


def names_are_escaped_in_messages(folder):
    name = os.path.join(folder, "no\033]0;x\a\nsuch\u202e.zst")
    for command in set(COMMANDS) - {"python", "backward", "folded", "suggest", "html", "top"}:        # these are not commands, or need more than a log
        for arguments in ([*words(command), name], [*words(command), folder + "/\033[31m"], [COMMANDS[command][0], "--\033[31m", name]):
            text = report(*arguments, statuses=[1, 2]).stderr.decode()
            nothing_unseen(arguments, text)
    nothing_unseen("a command", report("\033[31m", statuses=[2]).stderr.decode())
    nothing_unseen("recover", report("log", "recover", name, statuses=[1]).stderr.decode())
    for path in (make("names", 1, name), name + ".fold"):
        with open(path, "ab") as file:
            file.write(b"damage")
    err = report("log", "recover", name).stderr.decode()
    nothing_unseen("recover", err)
    if "it is damaged" not in err:
        sys.exit(f"nothing is said of the fold: {err!r}")
    os.unlink(name)
    nothing_unseen("output", report("peaks", "-o", name + "/x", make("names", 1, os.path.join(folder, "a.zst")), statuses=[1]).stderr.decode())


TESTS += [names_are_escaped_in_messages]

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        next(test for test in TESTS if test.__name__ == sys.argv[1])(place)
