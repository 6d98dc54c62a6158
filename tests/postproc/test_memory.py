"""If one allocation of a report fails, the report is complete, or nothing is written and a message has the reason.

test_memory.py NAME [--all]: lets some of the allocations of each report fail, with --all four times as many. MEMPROF_REPORT, NO_MEMORY
(no_memory.c's library), GOLDEN (the folder of logs), MAKE_LOG, MAKE_OWN_LOG and MEMPROF_PAGE must be set."""
import os
import shutil
import subprocess
import sys
import tempfile

REPORT, NO_MEMORY, GOLDEN, MAKE_LOG = (os.environ[name] for name in ("MEMPROF_REPORT", "NO_MEMORY", "GOLDEN", "MAKE_LOG"))
PAGE = os.environ["MEMPROF_PAGE"] == "1"        # html is available
TIMEOUT = 20


def contents(path):
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        return file.read()


def run(arguments, folder, first=None):
    """Returns the status, the output file (None if there is none) and the message, with allocations failing from number `at` on.
        If none fails, returns the number of allocations."""
    out, count_file = os.path.join(folder, "out"), os.path.join(folder, "count")
    if os.path.exists(out):
        os.unlink(out)
    more = {"NO_MEMORY_FROM": str(first)} if first else {"NO_MEMORY_COUNT": count_file}
    done = subprocess.run([REPORT, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=TIMEOUT,
                          env={**os.environ, **more, "LC_ALL": "C", "LD_PRELOAD": NO_MEMORY})
    return done.returncode, contents(out), done.stderr.decode(), None if first else int(contents(count_file))


def is_said(status, message):
    lines = message.splitlines()
    return status == 1 and len(lines) == 1 and "; raise the limit with memprof-report --max-memory=MIB" in message


def chosen(count):
    """Returns the numbers of the allocations that fail: the first ones, the last ones, and some in between."""
    parts = 60 if "--all" in sys.argv else 15
    numbers = {*range(1, parts), *range(parts, count, 1 + count // parts), *range(max(1, count - parts * 2 // 3), count + 1)}
    return sorted(n for n in numbers if n <= count)


def each_failure(arguments, folder):
    arguments = [*arguments, "-o", os.path.join(folder, "out")]
    status, whole, message, count = run(arguments, folder)
    if status not in (0, 3) or not whole or not count:
        sys.exit(f"{arguments}: status {status}, {count} allocations: {message}")
    for first in chosen(count):
        status, written, message, _ = run(arguments, folder, first)
        if not is_said(status, message) or written is not None:
            sys.exit(f"{arguments}, the {first}. of {count} allocations fails: status {status}, {message!r}, wrote {written and written[:80]}")


def golden(name, folder):
    return shutil.copy(os.path.join(GOLDEN, name), os.path.join(folder, "log.zst"))


def exhaustion_never_writes_a_partial_peaks_report(folder):
    log = golden("h200-graphs-oom.zst", folder)
    each_failure(["peaks", "-fjson", log], folder)


def exhaustion_never_writes_a_partial_report(folder):
    log = golden("h200-graphs-oom.zst", folder)
    for arguments in (["peaks", "--by", "stack", "-fcsv"], ["oom", "-fjson"], ["timeline"], ["timeline", "-fcsv"], ["timeline", "-fjson"], ["graphs", "-fjson"], ["segments", "-fjson"], ["steps", "-fjson"], ["breakdown", "-fjson"],
                      ["peaks", "--tree"], ["peaks", "--tree", "--by", "python", "-fjson"], ["peaks", "--tree", "--folded", "--top", "3"], ["log", "info"], ["log", "info", "-fjson"], ["log", "verify", "-fjson"], ["processes"], ["temporary", "-fjson"], ["peaks", "--by", "thread"],
                      ["leaks", "-fjson"], ["summary", "--all", "-fjson"], ["summary"], ["ranks", "-fjson"], ["check", "--max=gpu0/device=1TiB"]):
        each_failure([*arguments, log], folder)
    other = shutil.copy(os.path.join(GOLDEN, "h200-graphs-eager.zst"), os.path.join(folder, "other.zst"))
    each_failure(["diff", "-fjson", log, other], folder)
    each_failure(["check", "--suggest", log], folder)
    each_failure(["check", "--tolerance=1000%", "--against", log, other], folder)


def exhaustion_never_writes_a_partial_leaks_report(folder):
    """A log with sites that grow."""
    log = os.path.join(folder, "log.zst")
    subprocess.run([MAKE_LOG, "loop", log, "40"], check=True)
    each_failure(["leaks", "--every=20ms", log], folder)
    each_failure(["leaks", "-fjson", log], folder)


def exhaustion_never_writes_a_partial_export(folder):
    log = golden("h200-graphs-oom.zst", folder)
    for form in ("torch-snapshot", "pprof", "perfetto"):
        each_failure(["export", "--to", form, log], folder)
        if sorted(os.listdir(folder)) != ["count", "log.zst"]:
            sys.exit(f"{form}: {os.listdir(folder)}")


def killed(folder):
    log = os.path.join(folder, "killed.zst")
    subprocess.run([MAKE_LOG, "killed", log], check=True)
    return log


def exhaustion_never_skips_a_journal_silently(folder):
    log = killed(folder)
    each_failure(["peaks", "-fjson", log], folder)
    each_failure(["peaks", "-fjson", log + ".journal"], folder)
    os.unlink(log)
    each_failure(["peaks", "-fjson", log + ".journal"], folder)


def exhaustion_never_leaves_a_partial_recovery(folder):
    count = run(["log", "recover", killed(folder)], folder)[3]
    if not count:
        sys.exit("nothing is allocated")
    for first in range(1, count + 1):
        log = killed(folder)
        before = contents(log), contents(log + ".journal")
        status, _, message, _ = run(["log", "recover", log], folder, first)
        if not is_said(status, message) or before != (contents(log), contents(log + ".journal")) or os.path.exists(log + ".recover"):
            sys.exit(f"recover, the {first}. of {count} allocations fails: status {status}, {message!r}")


def exhaustion_never_drops_stored_names_silently(folder):
    """No report treats a failed allocation as damage of LOG.symbols."""
    program, log = os.path.join(folder, "program"), os.path.join(folder, "log.zst")
    shutil.copy(os.environ["MAKE_OWN_LOG"], program)
    subprocess.run([program, log], check=True)
    subprocess.run([REPORT, "log", "symbolize", "--quiet", log], check=True)
    os.unlink(program)
    each_failure(["peaks", "--tree", log], folder)
    if b"load (make_own_log.c:86)" not in subprocess.run([REPORT, "peaks", "--tree", log], stdout=subprocess.PIPE, check=True).stdout:
        sys.exit("no stored name was asked for")


def exhaustion_never_writes_a_partial_page(folder):
    if PAGE:
        each_failure(["html", golden("h200-graphs-oom.zst", folder)], folder)


TESTS = [exhaustion_never_writes_a_partial_peaks_report, exhaustion_never_writes_a_partial_report, exhaustion_never_writes_a_partial_leaks_report, exhaustion_never_writes_a_partial_export, exhaustion_never_skips_a_journal_silently, exhaustion_never_leaves_a_partial_recovery, exhaustion_never_drops_stored_names_silently,
         exhaustion_never_writes_a_partial_page]

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        next(test for test in TESTS if test.__name__ == sys.argv[1])(place)
