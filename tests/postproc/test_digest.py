"""A digest has the numbers that reports on its log print, is small for any log, and is not rewritten while it is up to date.

test_digest.py, with MEMPROF_REPORT, MAKE_LOG, MAKE_GPU_LOG, MAKE_STACK_LOG, GOLDEN and MAN set."""
import fcntl
import glob
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

REPORT, GOLDEN = os.environ["MEMPROF_REPORT"], os.environ["GOLDEN"]
MADE = {"MAKE_LOG": [["whole"], ["unended"], ["full"], ["lossy"], ["killed"], ["spike", "20"], ["worker", "2"]],
        "MAKE_GPU_LOG": [["graphs"], ["segments"], ["layers"], ["serving"], ["rank", "1"]], "MAKE_STACK_LOG": [["native"], ["python"], ["sampled"]]}
LARGEST = 400 << 10             # bytes of any digest


def check(good, *what):
    if not good:
        sys.exit(" ".join(str(w) for w in what))


# A file system that cannot create unnamed files, so a partial file exists during the write.
NAMED = {**os.environ, "LD_PRELOAD": os.environ["NO_TMPFILE"]}


def run(*words, **options):
    return subprocess.run([REPORT, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def report(command, log, *options):
    done = run(command, "--format", "json", *options, log)
    check(done.returncode in (0, 3), command, log, done.stderr)
    return json.loads(done.stdout)


def rows(db, table):
    """Returns each row as an object. A table without rows gives nothing."""
    found = db.execute(f"SELECT * FROM {table} ORDER BY rowid")
    names = [c[0] for c in found.description]
    return [dict(zip(names, row)) for row in found]


def opened(path):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    check(db.execute("PRAGMA integrity_check").fetchone() == ("ok",), path, "is damaged")
    check(db.execute("PRAGMA application_id").fetchone() == (0x6d706467,), path, "does not say what it is")
    return db


def made(log):
    done = run("log", "digest", log)
    check(done.returncode in (0, 3), log, done.stderr)
    check(done.stdout == done.stderr == "", log, "says something", done)
    check(os.path.getsize(log + ".digest") < LARGEST, log, "has a digest of", os.path.getsize(log + ".digest"))
    return opened(log + ".digest")


# ---- the numbers are those of reports


def heaps(db, log):
    summary, peaks = report("summary", log), report("peaks", log)["logs"][0]
    process = rows(db, "processes")[0]
    for column, key in ("complete", "complete"), ("incomplete", "incomplete"), ("events", "events"), ("lost_events", "lost_events"), ("duration_ns", "duration_ns"):
        check(process[column] == summary[key], log, column, process[column], summary[key])
    check(process["process"] == summary["process"]["pid"] and process["rank"] == summary["process"]["rank"], log, process)
    digest_heaps = {h["heap"]: h for h in rows(db, "heaps")}
    check(list(digest_heaps) == [h["heap"] for h in summary["heaps"]], log, "heaps", list(digest_heaps))
    for h in summary["heaps"]:
        row = digest_heaps[h["heap"]]
        got = [row[c] for c in ("peak_bytes", "peak_ns", "end_bytes", "peak_blocks", "allocations", "peak_instance")]
        wanted = [h["peak_bytes"], h["peak_time_ns"], h["end_bytes"], h["blocks_at_peak"], h["allocations"], h.get("peak_instance")]
        check(got == wanted, log, h["heap"], got, wanted)
    for h in peaks["heaps"]:
        lines = [l for l in rows(db, "lines") if l["heap"] == h["heap"]]
        check(sum(l["peak_bytes"] for l in lines) == h["peak_bytes"], log, h["heap"], "lines do not sum to the peak")
        check(sum(l["end_bytes"] for l in lines) == sum(r["end_bytes"] for r in h["ranges"]), log, h["heap"], "bytes at the end differ")
        series = [s["max_bytes"] for s in rows(db, "series") if s["heap"] == h["heap"]]
        check(max(series) == h["peak_bytes"] and len(series) <= 128, log, h["heap"], "series", len(series))


def text_lines(db, log):
    """Compares the digest's lines with the text of peaks."""
    done = run("peaks", "--top=1000", "--width=500", "--color=never", log)
    for line in rows(db, "lines"):
        last = line["path"].rpartition(" > ")[2]            # a long path is cut in its middle
        if line["lines"] == 1 and line["peak_bytes"] and not re.search(r"\.\.\.|[^ -~]", line["path"]):
            check(last in done.stdout, log, "peaks has no line", line["path"])


def devices(db, log):
    devices = report("peaks", log)["logs"][0].get("devices") or []
    check(len(devices) == len(rows(db, "devices")), log, "devices")
    for d in devices:
        parts = {p["part"]: p["bytes"] for p in rows(db, "device_parts") if p["device"] == d["index"]}
        check(parts == {p["part"]: p["bytes"] for p in d.get("parts") or []}, log, "parts", parts)
        comms = sorted((c["name"], c["bytes"], c["ranks"], c["rank"]) for c in rows(db, "communicators") if c["device"] == d["index"])
        wanted = sorted((c["id"], c["bytes"], c["ranks"], c["rank"]) for c in d.get("communicators") or [])
        check(comms == wanted, log, "communicators", comms, wanted)


def roles(db, log):
    summary = report("summary", log)
    done = run("breakdown", "--format", "json", *(["--at", f"{summary['oom']['time_ns']}ns"] if "oom" in summary else []), log)
    heaps = json.loads(done.stdout)["heaps"] if done.returncode in (0, 3) else []
    wanted = {(h["heap"], r["role"]): (r["bytes"], r["blocks"]) for h in heaps for r in h["roles"] if r["blocks"]}
    check({(r["heap"], r["role"]): (r["bytes"], r["blocks"]) for r in rows(db, "roles")} == wanted, log, "roles")


def instances(db, log):
    done = run("steps", "--format", "json", log)
    instances = rows(db, "instances")
    if done.returncode not in (0, 3):
        check(not instances, log, "instances of nothing")
        return
    steps = json.loads(done.stdout)
    for h in steps["heaps"][:6]:
        own = [i for i in instances if i["heap"] == h["heap"]]
        if not own:                                         # summary does not look for one if another range is the outermost
            continue
        check(len(own) <= 48, log, len(own), "instances")
        check(sum(i["instances"] for i in own) == sum(i["instances"] for i in h["instances"]), log, h["heap"], "instances")
        check(max(i["peak_bytes"] for i in own) == max(i["peak_bytes"] for i in h["instances"]), log, h["heap"], "peak of instances")
        check(own[0]["begin_ns"] == h["instances"][0]["begin_ns"] and own[-1]["end_bytes"] == h["instances"][-1]["end_bytes"], log, h["heap"], own[-1])


def failures(db, log):
    ooms = report("oom", log)["logs"][0]["ooms"]
    own = rows(db, "ooms")
    check([(o["time_ns"], o["asked_bytes"], o["got_over"]) for o in own] == [(o["time_ns"], o["bytes"], not o["hard"]) for o in ooms][-16:], log, "ooms", own)
    hard = [o["time_ns"] for o in ooms if o["hard"]]
    process = rows(db, "processes")[0]
    check(process["ooms_hard"] == len(hard) and process["ooms_soft"] == len(ooms) - len(hard), log, "ooms", process)
    if hard:
        check(process["failed_ns"] == hard[0], log, "failed", process["failed_ns"], hard)
    findings = report("summary", log, "--all")["findings"]
    check([(f["finding"], f["place"], f["saves_at_most_bytes"]) for f in rows(db, "findings")] ==
          [(f["finding"], f["where"], f["saves_at_most_bytes"]) for f in findings][:16], log, "findings")


# ---- size and freshness


def bounded(folder):
    log = os.path.join(folder, "names.zst")
    names = [f"{n % 7 + 1} {'ab' * (n % 20 + 1)} {'x' * 400} > {'cd' * (n // 20 + 1)} of a name that nobody reads" for n in range(1000)]
    subprocess.run([os.environ["MAKE_LOG"], "ranges", log, *names], check=True)
    db = made(log)
    lines = rows(db, "lines")
    check(len(lines) <= 65 and max(len(l["path"].encode()) for l in lines) <= 400, "1000 ranges", len(lines))
    check(lines[-1]["lines"] > 1 and lines[-1]["path"] == f"({lines[-1]['lines']} more)", "the rest", lines[-1])
    check(sum(l["peak_bytes"] for l in lines) == rows(db, "heaps")[0]["peak_bytes"], "the rest is no remainder")
    db.close()


def fresh(folder):
    log, other = os.path.join(folder, "fresh.zst"), os.path.join(folder, "other.digest")
    shutil.copy(os.path.join(GOLDEN, "h200-pytorch.zst"), log)
    made(log).close()
    made(log).close()
    first = os.stat(log + ".digest").st_ino
    made(log).close()
    check(os.stat(log + ".digest").st_ino == first, "a good digest is written again")
    check(run("log", "digest", "-o", other, log).returncode == 0 and os.path.getsize(other) == os.path.getsize(log + ".digest"), "-o")
    shutil.copy(os.path.join(GOLDEN, "h200-walk.zst"), log)
    made(log).close()
    check(os.stat(log + ".digest").st_ino != first, "an old digest stays")
    with open(log + ".digest", "r+b") as f:                                 # changes its pages, but not its type
        f.seek(4096)
        f.write(b"x" * 5000)
    made(log).close()
    check(run("log", "digest", "-o", other, log, os.path.join(GOLDEN, "h200-walk.zst")).returncode == 1, "-o for two logs")
    check(run("log", "digest", "-o", "-", log).returncode == 2, "-o -")


def refused(folder):
    """If the digest cannot be written, the old one is kept."""
    log = os.path.join(folder, "full.zst")
    shutil.copy(os.path.join(GOLDEN, "h200-pytorch.zst"), log)
    shutil.copy(os.path.join(folder, "fresh.zst.digest"), log + ".digest")
    with open(log + ".digest", "rb") as f:
        before = f.read()
    done = subprocess.run(["bash", "-c", 'ulimit -f 8; trap "" XFSZ; exec "$@"', "bash", REPORT, "log", "digest", log], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(done.returncode == 1 and log + ".digest" in done.stderr and done.stderr.count("\n") == 1, "a full disk", done)
    with open(log + ".digest", "rb") as f:
        check(f.read() == before, "the old file is gone")
    check(not glob.glob(os.path.join(folder, "*.part")), "a part stays")
    for owner, good in ("nobody", True), ("somebody", False):          # a leftover partial file, and one that is being written
        part = open(log + ".digest.part", "wb")
        part.write(b"half")
        if owner == "somebody":
            fcntl.flock(part, fcntl.LOCK_EX)
        else:
            part.close()
        done = run("log", "digest", log, env=NAMED)
        check(done.returncode == 0 and not done.stderr, owner, done)
        check(os.path.exists(log + ".digest.part") != good and os.path.exists(log + ".digest") == good, owner)
        if not good:
            part.close()
            os.unlink(log + ".digest.part")
        if good:
            os.unlink(log + ".digest")
    with open(log + ".digest.part", "wb") as part:                       # a partial file of another process
        part.write(b"mine")
    os.link(log + ".digest.part", log + ".kept")
    done = run("log", "digest", log, env=NAMED)
    check(done.returncode == 1 and "its .part file belongs to another user or has other links" in done.stderr and not os.path.exists(log + ".digest"), "planted", done)
    with open(log + ".kept", "rb") as part:
        check(part.read() == b"mine", "planted")
    os.unlink(log + ".digest.part")
    for turn in range(4):                                                   # several runs in one folder that end at the same time
        for path in glob.glob(os.path.join(folder, "*.digest")):
            os.unlink(path)
        many = [subprocess.Popen([REPORT, "log", "digest", log], env=NAMED if turn % 2 else None, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(6)]
        results = [(one.communicate()[0], one.returncode) for one in many]
        check(results == [("", 0)] * 6 and os.path.exists(log + ".digest"), "six at once", results)
        check(not glob.glob(os.path.join(folder, "*.part")), "a part stays")
    os.unlink(log + ".digest")
    bad = os.path.join(folder, "bad.zst")
    with open(bad, "w") as f:
        f.write("no log\n")
    done = run("log", "digest", bad, log)
    check(done.returncode == 1 and bad in done.stderr and not os.path.exists(bad + ".digest"), "a file that is no log", done)
    opened(log + ".digest").close()


def others(folder):
    """A file at the digest's path that is not a digest, or of a newer version, is only replaced with -o."""
    log = shutil.copy(os.path.join(GOLDEN, "h200-pytorch.zst"), os.path.join(folder, "others.zst"))
    place = log + ".digest"

    def newer():
        made(log).close()
        with sqlite3.connect(place) as db:
            db.execute("PRAGMA user_version = 3")

    def foreign():
        with sqlite3.connect(place) as db:
            db.execute("CREATE TABLE processes (mine)")

    def text():
        with open(place, "w") as f:
            f.write("what was there")

    for what, why in (newer, "has version 3"), (foreign, "not a digest of a log"), (text, "not a digest of a log"):
        what()
        with open(place, "rb") as f:
            before = f.read()
        done = run("log", "digest", log)
        check(done.returncode == 1 and done.stderr.startswith(f"memprof-report: {place}: this ") and why in done.stderr, what, done)
        check(done.stderr.count("\n") == 1, what, done)
        with open(place, "rb") as f:
            check(f.read() == before, what, "is gone")
        check(run("log", "digest", "-o", place, log).returncode == 0, what, "-o")
        opened(place).close()
        os.unlink(place)


def of_another_user(folder):
    """Another user who may write to the folder cannot influence the digest of a log there."""
    log = shutil.copy(os.path.join(GOLDEN, "h200-pytorch.zst"), os.path.join(folder, "theirs.zst"))
    made(log).close()
    with sqlite3.connect(log + ".digest") as db:
        db.execute("UPDATE processes SET rank = 77")
    for owner, believed in (0, True), (4242, False):
        os.chown(log + ".digest", owner, -1)
        done = run("ranks", "--format=json", log)
        check(done.returncode in (0, 3) and ("77" in re.findall(r'"rank": "?([0-9]+)', done.stdout)) == believed, "owner", owner, done)
    done = run("log", "digest", log)
    check(done.returncode == 1 and "it belongs to neither the log's owner, nor you, nor root; this file was not changed" in done.stderr, "it was replaced", done)
    os.chown(log, 4242, -1)
    check("77" in run("ranks", "--format=json", log).stdout, "the log's owner is not believed")
    os.unlink(log)
    os.chown(log + ".digest", 4343, -1)
    check("77" in run("ranks", "--format=json", log + ".digest").stdout, "a digest alone is not read")
    os.unlink(log + ".digest")
    run_of = shutil.copytree(os.path.join(GOLDEN, "workers"), os.path.join(folder, "theirs"))
    os.chown(os.path.join(run_of, "memprof.run"), 4242, -1)
    check("OOM-killed" in run("processes", os.path.join(GOLDEN, "workers")).stdout, "the run's record is not read")
    check("OOM-killed" not in run("processes", run_of).stdout, "another user's record of a run is believed")


def rights(path):
    return oct(os.stat(path).st_mode & 0o777)


def for_readers_of_the_log(folder):
    """A digest has the same access rights as its log."""
    log = shutil.copy(os.path.join(GOLDEN, "h200-pytorch.zst"), os.path.join(folder, "own.zst"))
    before = os.umask(0)
    for mode in 0o600, 0o640, 0o644:
        os.chmod(log, mode)
        made(log).close()
        check(rights(log + ".digest") == oct(mode), "a digest of", rights(log + ".digest"), "of a log of", oct(mode))
        os.unlink(log + ".digest")
    os.chmod(log, 0o600)
    with open(log + ".digest.part", "w"):                                # left by a killed process
        pass
    made(log).close()
    check(rights(log + ".digest") == "0o600", "over a part", rights(log + ".digest"))
    named = os.path.join(folder, "named.digest")
    os.umask(0o027)
    check(run("log", "digest", "-o", named, log).returncode == 0 and rights(named) == "0o640", "-o", rights(named))
    os.umask(before)


def in_no_folder_of_others(folder):
    """If other users may change the folder, no file is written that the command line does not name."""
    log = shutil.copy(os.path.join(GOLDEN, "h200-pytorch.zst"), os.path.join(folder, "private.zst"))
    theirs = os.path.join(folder, "of-others")
    os.mkdir(theirs)
    link = os.path.join(theirs, "link.zst")
    os.symlink(log, link)

    def check_refused(why):
        done = run("log", "digest", link)
        check(done.returncode == 1 and why in done.stderr and done.stderr.count("\n") == 1, why, done)
        check(os.listdir(theirs) == ["link.zst"], why, os.listdir(theirs))

    os.chmod(theirs, 0o777)
    check_refused("every user can change its directory")
    os.chmod(theirs, 0o755)
    if os.geteuid() == 0:
        os.chown(theirs, 4242, -1)
        check_refused("belongs to another user (4242)")
    named = os.path.join(theirs, "named.digest")
    check(run("log", "digest", "-o", named, link).returncode == 0 and os.path.exists(named), "-o there")


def manual(digest):
    """The manual lists every table and column."""
    with open(os.environ["MAN"]) as f:
        page = f.read().partition(".SH OPTIONS OF LOG DIGEST")[2].partition(".SH ")[0].replace("\\-", "-")
    db = opened(digest)
    parts = [part.strip().partition("\n") for part in page.split(".TP")]
    for table, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        words = " ".join(text for heading, _, text in parts if re.search(rf"\b{table}\b", heading))
        check(words, "the manual has no", table)
        for column in db.execute(f"PRAGMA table_info({table})").fetchall():
            check(column[1] == "process_id" or re.search(rf"\b{column[1]}\b", words), "the manual has no", table, column[1])
    db.close()


with tempfile.TemporaryDirectory() as folder:
    logs = []
    for maker, scenarios in MADE.items():
        for scenario, *words in scenarios:
            logs.append(os.path.join(folder, f"{scenario}-{maker}.zst"))
            subprocess.run([os.environ[maker], scenario, logs[-1], *words], check=True)
    for golden in sorted([*glob.glob(os.path.join(GOLDEN, "*.zst")), *glob.glob(os.path.join(GOLDEN, "workers", "*.zst"))]):
        logs.append(shutil.copy(golden, folder))
    shutil.copy(os.path.join(GOLDEN, "workers", "memprof.run"), folder)
    check(len(logs) > 30, "logs", logs)
    for log in logs:
        db = made(log)
        for same in heaps, text_lines, devices, roles, instances, failures:
            same(db, log)
        db.close()
    manual(logs[0] + ".digest")
    bounded(folder)
    fresh(folder)
    refused(folder)
    others(folder)
    for_readers_of_the_log(folder)
    in_no_folder_of_others(folder)
    if os.geteuid() == 0:
        of_another_user(folder)
