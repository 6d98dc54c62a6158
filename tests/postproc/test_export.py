"""A log exported as a database has the numbers of the reports when Python's SQLite reads it.

test_export.py, with MEMPROF_REPORT, MAKE_LOG, MAKE_GPU_LOG, MAKE_STACK_LOG, GOLDEN and MAN set."""
import glob
import json
import os
import re
import sqlite3
import stat
import subprocess
import sys
import tempfile

REPORT, GOLDEN = os.environ["MEMPROF_REPORT"], os.environ["GOLDEN"]
BY_PAGES = "host/mmap", "host/shm"                          # have no blocks
IN_PARTS = "host/python", "host/pinned"                     # a sample; may be rounded
MADE = {"MAKE_LOG": ["whole", "unended", "full", "lossy", "spike 20", "hole"], "MAKE_GPU_LOG": ["graphs", "segments", "layers", "serving", "expandable"],
        "MAKE_STACK_LOG": ["native", "python", "sampled"]}


def check(good, *what):
    if not good:
        sys.exit(" ".join(str(w) for w in what))


def report(command, log, *options):
    done = subprocess.run([REPORT, command, "--format", "json", *options, log], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(done.returncode in (0, 3), command, log, done.stderr.decode())
    return json.loads(done.stdout)


def export(output, *words):
    return subprocess.run([REPORT, "export", "--to", "sqlite", "-o", output, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def opened(folder, *words):
    path = os.path.join(folder, "out.sqlite")
    done = export(path, *words)
    check(done.returncode in (0, 3), words, done.stderr)
    db = sqlite3.connect(path)
    check(db.execute("PRAGMA integrity_check").fetchone() == ("ok",), words, "is damaged")
    return db


def compare(folder, log):
    """Compares every sum of the database with that of the report."""
    db, peaks = opened(folder, log), report("peaks", log, "--by", "range")["logs"][0]
    ask = lambda sql, *values: db.execute(sql, values).fetchall()
    heaps = {h["heap"]: h for h in peaks["heaps"]}
    check(sorted(heaps) == sorted(h for h, in ask("SELECT heap FROM heaps")), log, "heaps")
    for name, h in heaps.items():
        row = ask("SELECT peak_bytes, peak_ns, end_bytes, allocations, frees FROM heaps WHERE heap = ?", name)[0]
        wanted = h["peak_bytes"], h["peak_time_ns"], h["end_bytes"], h["allocations"], h["frees"]
        columns = slice(0, 3) if name == "host/python" else slice(None)        # reports print the estimate of its sample
        check(row[columns] == wanted[columns], log, name, row, wanted)
        uses = ask("SELECT sum(peak_bytes), sum(end_bytes) FROM uses WHERE heap = ?", name)[0]
        check(uses == (h["peak_bytes"], h["end_bytes"]), log, name, "uses", uses)
        rows = ask("""SELECT path, sum(peak_bytes) FROM uses JOIN ranges USING (process_id, range_id) WHERE heap = ?
                      GROUP BY path HAVING sum(peak_bytes)""", name)
        wanted = {}
        for r in h["ranges"]:
            path = " > ".join(r["path"]) or "outside any range"
            if r["bytes_at_peak"]:
                wanted[path] = wanted.get(path, 0) + r["bytes_at_peak"]
        if ask("SELECT count(*) FROM sites")[0][0] == 0:    # otherwise a Python stack may replace a wrapper's range
            check(dict(rows) == wanted, log, name, dict(rows), wanted)
        check(ask("SELECT max(max_bytes) FROM series WHERE heap = ?", name)[0][0] == h["peak_bytes"], log, name, "series")
        if name in BY_PAGES + IN_PARTS or "-large" in log or "-off" in log:
            continue
        if name.replace("device", "pool") in heaps:         # blocks of the driver's pools are not device blocks
            continue
        alive = ask("SELECT coalesce(sum(bytes), 0) FROM blocks WHERE heap = ? AND freed_ns IS NULL", name)[0][0]
        check(alive == h["end_bytes"], log, name, "blocks at the end", alive, h["end_bytes"])
        live = ask("""SELECT coalesce(sum(bytes), 0) FROM blocks WHERE heap = ? AND made_ns <= ? AND (freed_ns IS NULL OR freed_ns > ?)""",
                   name, h["peak_time_ns"], h["peak_time_ns"])[0][0]
        check(live == h["peak_bytes"] or same_time(ask, name, h), log, name, "blocks at the peak", live, h["peak_bytes"])
    devices(ask, log, peaks)
    check(len(report("graphs", log)["graphs"]) == ask("SELECT count(*) FROM graphs")[0][0], log, "graphs")
    check(sum(len(l["ooms"]) for l in report("oom", log)["logs"]) == ask("SELECT count(*) FROM ooms")[0][0], log, "ooms")
    for table in "ranges", "threads", "sites":
        lost = ask(f"""SELECT count(*) FROM blocks LEFT JOIN {table} AS t USING (process_id, {table[:-1]}_id)
                       WHERE blocks.{table[:-1]}_id IS NOT NULL AND t.process_id IS NULL""")[0][0]
        check(lost == 0, log, lost, "blocks have no", table)
    for table in "ranges", "threads":
        column = f"freed_{table[:-1]}_id"
        lost = ask(f"""SELECT count(*) FROM blocks AS b LEFT JOIN {table} AS t ON t.process_id = b.process_id AND t.{table[:-1]}_id = b.{column}
                       WHERE (b.{column} IS NOT NULL AND t.process_id IS NULL) OR (b.freed_ns IS NULL AND b.{column} IS NOT NULL)""")[0][0]
        check(lost == 0, log, lost, "blocks are freed by none of", table)
    db.close()


def same_time(ask, heap, h):
    """Returns true if a block of the heap began or ended exactly at the peak's time, so that times do not determine
    which blocks lived."""
    at = h["peak_time_ns"]
    return ask("SELECT count(*) FROM blocks WHERE heap = ? AND (made_ns = ? OR freed_ns = ?)", heap, at, at)[0][0] > 0


def devices(ask, log, peaks):
    for d in peaks.get("devices") or []:
        parts = ask("SELECT part, bytes FROM device_parts WHERE device = ?", d["index"])
        check(dict(parts) == {p["part"]: p["bytes"] for p in d.get("parts") or []}, log, "parts", parts)
        comms = ask("SELECT bytes FROM communicators WHERE device = ? ORDER BY bytes", d["index"])
        check([b for b, in comms] == sorted(c["bytes"] for c in d.get("communicators") or []), log, "communicators")


def marks(folder, made):
    """Estimates are marked as in reports."""
    for log, heap, wanted in ((made["whole"], "host/heap", {None}), (made["sampled"], "host/heap", {None, ">="}),
                              (os.path.join(GOLDEN, "host-sample.zst"), "host/heap", {None, "~"}), (os.path.join(GOLDEN, "python-small.zst"), "host/python", {"~"})):
        db = opened(folder, log)
        found = {mark for mark, in db.execute("SELECT DISTINCT mark FROM uses WHERE heap = ?", (heap,))}
        check(found == wanted, log, heap, "marks", found)
        check(db.execute("SELECT count(*) FROM uses WHERE mark = '>=' AND site_id IS NULL").fetchone() == (0,), log, "blocks without a call stack are not samples")
        db.close()


def selection(folder, log):
    whole = opened(folder, log)
    count, max_bytes = whole.execute("SELECT count(*), max(bytes) FROM blocks").fetchone()
    large = whole.execute("SELECT count(*) FROM blocks WHERE bytes >= ?", (max_bytes,)).fetchone()[0]
    uses = whole.execute("SELECT sum(peak_bytes) FROM uses").fetchone()
    middle = whole.execute("SELECT duration_ns / 2 FROM processes").fetchone()[0]
    late = whole.execute("SELECT made_ns FROM blocks WHERE made_ns % 1000000 > 0 ORDER BY made_ns LIMIT 1 OFFSET ?", (count // 2,)).fetchone()[0]
    lived = whole.execute("SELECT count(*) FROM blocks WHERE made_ns <= ? AND (freed_ns IS NULL OR freed_ns >= ?)", (middle, middle)).fetchone()[0]
    whole.close()
    some = opened(folder, "--min", str(max_bytes), log)
    check(0 < large < count and some.execute("SELECT count(*) FROM blocks").fetchone()[0] == large, "--min")
    check(some.execute("SELECT sum(peak_bytes) FROM uses").fetchone() == uses, "--min changes uses")
    some.close()
    part = opened(folder, f"--from={middle}ns", f"--until={middle}ns", log)
    check(0 < lived < count and part.execute("SELECT count(*) FROM blocks").fetchone()[0] == lived, "--from and --until")
    part.close()
    part = opened(folder, f"--until={late // 1000000}ms", log)
    check(part.execute("SELECT count(*) FROM blocks WHERE made_ns = ?", (late,)).fetchone()[0] > 0, "--until is as long as its last digit")
    part.close()


def queries(folder, logs):
    """The manual's queries are valid, and most of them have a result."""
    with open(os.environ["MAN"]) as f:
        page = f.read().partition(".SS A database")[2].partition(".SS ")[0].replace("\\-", "-")
    shown = re.findall(r"\.EX\n(.*?)\.EE", page, re.DOTALL)
    check(len(shown) == 11, len(shown), "queries")
    db = opened(folder, *logs)
    check([i for i, in db.execute("SELECT process_id FROM processes ORDER BY 1")] == list(range(1, len(logs) + 1)), "processes")
    for table, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        db.execute(f"SELECT rowid FROM {table}")            # DuckDB counts by it
    for sql in shown:
        check(db.execute(sql).fetchall(), "no answer to", sql)
    db.close()


def failures(folder, good):
    bad, old, none = (os.path.join(folder, name) for name in ("bad.zst", "old.sqlite", "no/such/dir.sqlite"))
    with open(bad, "w") as f:
        f.write("no log\n")
    with open(old, "w") as f:
        f.write("what was there")
    done = export(old, bad)
    check(done.returncode == 1 and bad in done.stderr, "a file that is no log", done)
    with open(old) as f:
        check(f.read() == "what was there", "the old file is gone")
    check(not glob.glob(os.path.join(folder, "*.part")), "a part stays")
    done = export(none, good)
    check(done.returncode == 1 and none in done.stderr, "no such folder", done)
    done = export(old, bad, good)
    check(done.returncode == 1, "one of two is no log", done)
    db = sqlite3.connect(old)
    check(db.execute("SELECT count(*) FROM processes").fetchone() == (1,), "one of two")
    check(db.execute("SELECT min(process_id), max(process_id) FROM uses").fetchone() == (1, 1), "one of two")
    db.close()
    fifo = os.path.join(folder, "fifo")
    os.mkfifo(fifo)
    done = export(fifo, good)
    check(done.returncode == 1 and fifo in done.stderr and stat.S_ISFIFO(os.stat(fifo).st_mode), "what is no file is replaced", done)
    done = subprocess.run([REPORT, "--max-memory=2", "export", "--to", "sqlite", "-o", old, os.path.join(GOLDEN, "h100-gpt2.zst")],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(done.returncode == 1 and not glob.glob(os.path.join(folder, "*.part")), "without memory a part stays", done)
    done = export(old, "--from=2ms", "--until=1ms", good)
    check(done.returncode == 1 and "--until" in done.stderr, "nothing is between", done)
    for words in (["-o", "-"], ["--to", "paper"], ["--min", "much"]):
        done = subprocess.run([REPORT, "export", "--to", "sqlite", *words, good], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        check(done.returncode == 2 and words[0].strip("-")[0] in done.stderr, words, done)


def full(folder, log):
    """The disk is full: files have a maximum size."""
    path = os.path.join(folder, "full.sqlite")
    done = subprocess.run(["bash", "-c", 'ulimit -f 16; trap "" XFSZ; exec "$@"', "bash", REPORT, "export", "--to", "sqlite", "-o", path, log],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check(done.returncode == 1 and path in done.stderr, "a full disk", done)
    check(not glob.glob(path + "*"), "a part of a database stays", glob.glob(path + "*"))


with tempfile.TemporaryDirectory() as folder:
    made = {}
    for maker, scenarios in MADE.items():
        for scenario in scenarios:
            made[scenario] = os.path.join(folder, f"{scenario.split()[0]}.zst")
            if subprocess.run([os.environ[maker], scenario.split()[0], made[scenario], *scenario.split()[1:]]).returncode != 0:
                sys.exit(f"{scenario} cannot be made")
    golden = sorted(glob.glob(os.path.join(GOLDEN, "*.zst")))
    check(len(golden) > 15, "golden logs", golden)
    for log in [*made.values(), *golden]:
        compare(folder, log)
    marks(folder, made)
    selection(folder, os.path.join(GOLDEN, "h200-pytorch.zst"))
    queries(folder, [os.path.join(GOLDEN, name) for name in ("h200-pytorch.zst", "h200-graphs-oom.zst")])
    failures(folder, made["whole"])
    full(folder, os.path.join(GOLDEN, "h200-pytorch.zst"))
