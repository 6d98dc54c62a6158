"""`ranks` lists ranks that differ with the cause and amount, missing ranks, the first failure, and files that are not digests.

test_ranks.py, with MEMPROF_REPORT, MAKE_GPU_LOG and GOLDEN set."""
import csv
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import make_ranks

REPORT, GOLDEN = os.environ["MEMPROF_REPORT"], os.environ["GOLDEN"]
RANKS, GIB, SECOND = 48, 1 << 30, 10**9


def check(good, *what):
    if not good:
        sys.exit(" ".join(str(w) for w in what))


def run(*words):
    return subprocess.run([REPORT, "ranks", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"})


def ranks(*words, status=0):
    done = run("--format", "json", *words)
    check(done.returncode == status, words, "status", done.returncode, done.stderr)
    return json.loads(done.stdout)


def edit(path, *statements):
    db = sqlite3.connect(path)
    for sql in statements:
        db.execute(sql)
    db.commit()
    db.close()


class Job:
    """A folder with one digest per rank, made from a digest of a real log."""

    def __init__(self, base, count=RANKS, clocks=(), changes=()):
        self.folder = tempfile.mkdtemp()
        clocks, changes = dict(clocks), dict(changes)
        self.path = [make_ranks.make(self.folder, base, rank, count, clocks.get(rank // make_ranks.A_NODE, 0), changes.get(rank)) for rank in range(count)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def report(self, status=0):
        return ranks(self.folder, status=status)


def by_name(rows, key="name"):
    return {row[key]: row for row in rows}


# ---- outliers


def seeded(base):
    """Ranks that have more memory are listed, the farthest first, each with its line. No other rank is."""
    chance = random.Random(7)
    more = {rank: chance.randrange(GIB // 4, 8 * GIB) for rank in chance.sample(range(RANKS), 5)}
    changes = {rank: (lambda db, bytes=bytes: make_ranks.hold_more(db, "gpu0/torch", bytes)) for rank, bytes in more.items()}
    with Job(base, changes=changes) as job:
        result = job.report()
        wanted = sorted(more, key=lambda rank: -more[rank])
        check([o["rank"] for o in result["outliers"]] == wanted, "outliers", result["outliers"], wanted)
        for o in result["outliers"]:
            check(o["change_bytes"] == more[o["rank"]] and o["causes_of"] == "gpu0/torch", o)
            check([(c["path"], c["change_bytes"]) for c in o["causes"]] == [(make_ranks.LINE, more[o["rank"]])], "cause", o)
            check([(c["path"], c["change_bytes"]) for c in o["account"]] == [("torch live", more[o["rank"]])], "account", o)
        spread(job, result)
        heat(result)
        lines = [line.split(",") for line in run("--format", "csv", job.folder).stdout.splitlines()]
        apart = {int(row[0]) for row in lines[1:] if row[9] == "1"}
        check(len(lines) == 1 + RANKS * len(result["measures"]) and apart == set(more), "CSV", apart)
        text = run("--width=100", job.folder).stdout
        check(f"all of it {make_ranks.LINE}" in text and f"{wanted[0]}" in text.split("largest difference first:")[1].splitlines()[1], text)


def spread(job, result):
    """Reads the databases directly. A rank is an outlier if it differs from the median by more than a twentieth."""
    peaks = {}
    for path in job.path:
        db = sqlite3.connect(path)
        for heap, peak in db.execute("SELECT heap, peak_bytes FROM heaps"):
            peaks.setdefault(heap, []).append(peak)
        db.close()
    for m in (m for m in result["measures"] if m["of"] == "heap"):
        values = sorted(peaks[m["name"]])
        median = values[len(values) // 2]
        wanted = median, values[0], values[-1], sum(abs(v - median) > median // 20 for v in values)
        check((m["median_bytes"], m["least_bytes"], m["most_bytes"], m["apart"]) == wanted, m, wanted)
    nodes = by_name(result["nodes"], "host")
    check(sum(n["ranks"] for n in nodes.values()) == RANKS and max(n["most_bytes"] for n in nodes.values()) == max(peaks["gpu0/device"]), "nodes", nodes)
    groups = result["communicators"]
    check({g["present"] for g in groups} == {g["ranks"] for g in groups}, "groups", groups)


def heat(result):
    max_bytes = {r["name"]: max(r["bytes"]) for r in result["heat"]["ranks"]}
    shown = by_name(result["measures"])[result["heat"]["heap"]]
    check(max(max_bytes.values()) == shown["most_bytes"] and max_bytes[shown["most_rank"]] == shown["most_bytes"], "heat", shown)
    check(min(max_bytes.values()) == shown["least_bytes"], "heat", shown, min(max_bytes.values()))


def causes(base):
    """A line that occurs in two ranks with different numbers is one line. A difference that several lines cause is
    reported as such."""
    def shift(db):
        make_ranks.hold_more(db, "gpu0/torch", GIB, "layers.{4..7} > mlp", "layers.{n} > mlp")
        make_ranks.hold_more(db, "gpu0/torch", 2 * GIB)
        db.execute("UPDATE lines SET caller = 'forward' WHERE alike = 'layers.{n} > mlp'")

    def usual(db):
        make_ranks.hold_more(db, "gpu0/torch", 3 * GIB, "layers.{0..3} > mlp", "layers.{n} > mlp")
        db.execute("UPDATE lines SET caller = 'forward' WHERE alike = 'layers.{n} > mlp'")

    def little(db):
        db.execute("UPDATE heaps SET peak_bytes = peak_bytes - 1073741824 WHERE heap IN ('gpu0/torch', 'gpu0/device')")
        db.execute("UPDATE lines SET peak_bytes = peak_bytes - 1073741824 WHERE alike = 'layers.{n} > mlp'")

    changes = {rank: usual for rank in range(16)}
    changes[3] = shift
    changes[9] = lambda db: (usual(db), little(db))
    changes[12] = lambda db: (usual(db), shift(db))
    with Job(base, 16, changes=changes) as job:
        result = by_name(job.report()["outliers"])
        check(sorted(result) == ["rank 12", "rank 9"], "causes", result)
        got = [(c["path"], c["change_bytes"]) for c in result["rank 12"]["causes"]]
        check(got == [(make_ranks.LINE, 2 * GIB), ("layers.{n} > mlp", GIB)], got)
        got = [(c["path"], c["caller"], c["change_bytes"]) for c in result["rank 9"]["causes"]]
        check(got == [("layers.{0..3} > mlp", "forward", -GIB)], got)
        text = run("--width=200", job.folder).stdout
        check("+2.00 GiB step > experts.{0..7} > alltoall; +1.00 GiB forward > layers.{n} > mlp" in text, text)
        check("-1.00 GiB: all of it forward > layers.{0..3} > mlp" in text, text)


def account(base):
    """A device that differs by memory outside of PyTorch's blocks."""
    def nccl(db):
        db.execute("UPDATE heaps SET peak_bytes = peak_bytes + ? WHERE heap = 'gpu0/device'", (4 * GIB,))
        db.execute("UPDATE device_parts SET bytes = bytes + ? WHERE part = 'nccl'", (4 * GIB,))

    with Job(base, 8, changes={5: nccl}) as job:
        result = job.report()["outliers"]
        check([(o["rank"], o["causes_of"]) for o in result] == [(5, "gpu0/device")], result)
        check([(c["path"], c["change_bytes"]) for c in result[0]["account"]] == [("NCCL", 4 * GIB)], result)
        text = run("--width=200", job.folder).stdout
        check("in the device's account: NCCL +4.00 GiB" in text, text)


# ---- stages

TENSOR, DATA, PIPELINE = 2, 4, 4                        # 32 ranks; the stages of the pipeline are {0..7}, {8..15}, ...
USES = {"tensor": "ncclAllReduce", "data": "ncclReduceScatter", "pipeline": "ncclSend", "pairs": "ncclSend", "stage": "ncclAllGather", "all": "ncclAllReduce"}
STAGES = ["{0..7}", "{8..15}", "{16..23}", "{24..31}"]


def groups_of(rank, kinds):
    """Returns (name, size, place, first use) of the communicators of a rank, which depend on its number."""
    tensor, data, stage = rank % TENSOR, rank // TENSOR % DATA, rank // (TENSOR * DATA)
    all_kinds = {
        "tensor": [(f"{data}.{stage}", TENSOR, tensor)], "data": [(f"{tensor}.{stage}", DATA, data)], "pipeline": [(f"{tensor}.{data}", PIPELINE, stage)],
        "stage": [(f"{stage}", TENSOR * DATA, rank % (TENSOR * DATA))],
        "pairs": [(f"{tensor}.{data}.{first}", 2, stage - first) for first in (stage - 1, stage) if 0 <= first < PIPELINE - 1],
        "all": [("", TENSOR * DATA * PIPELINE, rank)],
    }
    return [(f"{kind} {name}", size, place, USES[kind]) for kind in kinds for name, size, place in all_kinds[kind]]


def staged(rank, kinds, more):
    """Returns a function that sets the rank's communicators and adds the memory of its stage or of the rank."""
    def change(db):
        db.execute("DELETE FROM communicators")
        for group in groups_of(rank, kinds):
            db.execute("INSERT INTO communicators VALUES (1, 0, ?, ?, ?, ?, ?, 1048576, 1)", (*group, make_ranks.MADE_NS))
        for path, bytes in more.get(STAGES[rank // (TENSOR * DATA)], []) + more.get(rank, []):
            make_ranks.hold_more(db, "gpu0/torch", bytes, path, path)
    return change


def stages_of(base, kinds, more, without=()):
    """Returns by heap the reported stages, and the whole report as text, as wide text and in the manual's form."""
    count = TENSOR * DATA * PIPELINE
    with Job(base, count, changes={rank: staged(rank, kinds, more) for rank in range(count)}) as job:
        for rank in without:
            os.unlink(job.path[rank])
        result = job.report(status=3 if without else 0)
        text = [run(f"--width={width}", job.folder).stdout for width in ("full", 80)]
        rows = list(csv.DictReader(run("--format", "csv", job.folder).stdout.splitlines()))
        return by_name(result["stages"], "heap"), result, text, rows


def manual():
    with open(os.path.join(GOLDEN, "..", "..", "docs", "man", "memprof-report.1"), encoding="utf-8") as f:
        return f.read().replace("\\-", "-")


def stages(base):
    """Peaks that depend on a dimension of the job are reported by stage, and outliers are those of their stage. Without
    communicators there are no stages."""
    more = {"{0..7}": [("step > embedding", 8 * GIB)], "{24..31}": [("step > head", 3 * GIB)], 21: [(make_ranks.LINE, 2 * GIB)]}
    for kinds, by in ((("all", "tensor", "data", "pipeline"), "place"), (("pairs", "tensor", "data"), "joined"), (("stage",), "group")):
        found, result, (text, narrow), rows = stages_of(base, kinds, more)
        stages = found["gpu0/torch"]
        check(stages["by"] == by and stages["within_bytes"] == 0, kinds, stages["by"], stages["within_bytes"])
        got = [(s["members"], s["change_bytes"], s["apart"], [(c["path"], c["change_bytes"]) for c in s["causes"]]) for s in stages["stages"]]
        less = "step > head", -3 * GIB          # the median belongs to the last stage
        check(got == [("{0..7}", 5 * GIB, 0, [("step > embedding", 8 * GIB), less]), ("{8..15}", -3 * GIB, 0, [less]), ("{16..23}", -3 * GIB, 1, [less]), ("{24..31}", 0, 0, [])], kinds, got)
        check([(o["rank"], o["change_bytes"], [c["path"] for c in o["causes"]]) for o in result["outliers"]] == [(21, 2 * GIB, [make_ranks.LINE])], kinds, result["outliers"])
        check("ranks {0..7}" in text and "+5.00 GiB: +8.00 GiB step > embedding, but -3.00 GiB step > head" in text and "-3.00 GiB: all of it step > head" in text and "ranks of one stage differ by at most 0 B, except the 1 above" in text, kinds, text)
        check(by != "place" or narrow.partition("\npeak of each heap")[0] in manual(), "the manual shows something else", narrow)
        cells = {row["name"]: row for row in rows if row["measure"] == "gpu0/torch"}
        check([cells[f"rank {rank}"]["stage"] for rank in (0, 8, 21, 31)] == STAGES and int(cells["rank 0"]["change_bytes"]) == 0, "CSV", cells["rank 0"])
    found, result, _, _ = stages_of(base, ("tensor", "data", "pipeline"), more, without=(0, 9, 30))
    members = [s["members"] for s in found["gpu0/torch"]["stages"]]
    check(members == ["{1..7}", "{8, 10..15}", "{16..23}", "{24..29, 31}"] and [o["rank"] for o in result["outliers"]] == [21], "without some", members)
    for kinds, more_by_rank in ((("all", "pairs"), more), (("all", "tensor", "data", "pipeline"), {rank: [(make_ranks.LINE, GIB)] for rank in (3, 11, 17, 30)}), (("tensor", "data"), {})):
        found, result, text, rows = stages_of(base, kinds, more_by_rank)
        check(not found and "stage" not in text[0] and not any(row["stage"] for row in rows), kinds, found)


# ---- missing ranks and processes


def missing(base):
    with Job(base, 16) as job:
        os.unlink(job.path[3])
        os.unlink(job.path[15])
        result = job.report(status=3)
        check(result["missing_ranks"] == 2 and result["missing"] == "{3,15}", "missing", result["missing"])
        check("missing: ranks {3,15}" in run(job.folder).stdout, "missing")
        shutil.copy(job.path[0], job.path[3])
        edit(job.path[3], "UPDATE processes SET host = 'other'")
        result = job.report(status=3)
        check(result["doubled_ranks"] == 1 and "two logs of rank 0" in run(job.folder).stdout, "doubled", result)
    with Job(base, 4) as job:                                       # "1" and "001" are one rank
        edit(job.path[1], "UPDATE processes SET rank = '001'")
        result = job.report()
        check([r["name"] for r in result["ranks"]] == [f"rank {i}" for i in range(4)] and not result["missing_ranks"], "001", result["missing"])
        shutil.copy(job.path[1], job.path[3])
        edit(job.path[3], "UPDATE processes SET rank = '1', host = 'other'")
        check(job.report(status=3)["doubled_ranks"] == 1, "1 and 001 of two hosts")
    with Job(base, 4) as job:
        child = os.path.join(job.folder, "child.zst.digest")
        shutil.copy(job.path[2], child)
        edit(child, "UPDATE processes SET process = 77, parent_process = 1002", "DELETE FROM heaps", "DELETE FROM lines")
        alone = os.path.join(job.folder, "launcher.zst.digest")
        shutil.copy(job.path[2], alone)
        edit(alone, "UPDATE processes SET process = 1, rank = NULL")
        worker = os.path.join(job.folder, "worker.zst.digest")       # of a parent that left no log
        shutil.copy(child, worker)
        edit(worker, "UPDATE processes SET process = 78, parent_process = 555, start_realtime_ns = start_realtime_ns + 1000000000, duration_ns = 1000000000")
        later = os.path.join(job.folder, "later.zst.digest")
        shutil.copy(worker, later)
        edit(later, "UPDATE processes SET start_realtime_ns = start_realtime_ns + 3600000000000")
        result = job.report(status=3)
        check((result["belonging_processes"], result["doubled_ranks"]) == (2, 1), "of another job", result["belonging_processes"])
        os.unlink(later)
        os.unlink(worker)
        result = job.report()
        check((result["belonging_processes"], result["processes_without_rank"], len(result["ranks"])) == (1, 1, 4), "who belongs", result)
    with Job(base, 3) as job:
        for path in job.path:
            edit(path, "UPDATE processes SET rank = NULL")
        result = job.report()
        starts = [r["start_realtime_ns"] for r in result["ranks"]]
        check({r["name"] for r in result["ranks"]} == {"pid 1000", "pid 1001", "pid 1002"} and starts == sorted(starts) and not result["missing_ranks"], "no ranks", result["ranks"])
        executed(job)


def executed(job):
    """A process is one, whatever programs it executed. A reused process ID is another process."""
    for name, after, *changes in (("sh", -2, "ended = 'exec'"), ("env", -1, "ended = 'exec'"), ("again", 3600)):
        path = os.path.join(job.folder, f"{name}.zst.digest")
        shutil.copy(job.path[1], path)
        edit(path, f"UPDATE processes SET file = '{name}.zst', start_realtime_ns = start_realtime_ns + {after} * 1000000000", "DELETE FROM heaps WHERE heap LIKE 'gpu%'",
             *(f"UPDATE processes SET {change}" for change in changes))
    result = job.report()
    check(sorted(r["name"] for r in result["ranks"]) == ["pid 1000", "pid 1001", "pid 1001", "pid 1002"], "executed", result["ranks"])
    check(result["executed_programs"] == 2 and {r["file"] for r in result["ranks"]} >= {"train.n000.1001.zst", "again.zst"}, "what stands for it", result["ranks"])
    check("4 processes on 1 node; 2 logs of other programs" in run(job.folder).stdout, "the numbers of processes and logs")
    edit(job.path[0], "UPDATE heaps SET estimated = 1 WHERE heap = 'gpu0/torch'")
    text, result = run(job.folder).stdout, by_name(job.report()["measures"])
    check(result["gpu0/torch"]["estimated"] and "estimated" not in result["gpu0/device"], "an estimate", result)
    check(len([line for line in text.splitlines() if line.startswith("  gpu0/torch") and " ~" in line]) == 1, "an estimate in words", text)


def fails(at):
    return lambda db: db.execute("UPDATE processes SET failed_ns = ?, ended = 'exit 1'", (at,))


def clocks(base):
    """Node 1's clock is 5 s fast, but its rank is still the first failure. Without communicators the first range shows
    the difference, if it is large."""
    made = make_ranks.MADE_NS
    changes = {9: fails(made), 2: fails(made + 3 * SECOND)}
    with Job(base, 16, clocks={1: 5 * SECOND}, changes=changes) as job:
        result = job.report()
        check([(c["host"], c["by"], c["ahead_ns"], c["shifted"]) for c in result["clocks"]] == [("n001", "communicator", 5 * SECOND, True)], result["clocks"])
        check([f["rank"] for f in result["failed"]] == [9, 2], "who failed first", result["failed"])
        text = run("--width=200", job.folder).stdout
        check("clocks: n001 is about 5.00 s ahead of n000" in text and "first to fail: rank 9 on n001" in text, text)
    with Job(base, 16, clocks={1: SECOND // 2}) as job:
        check(not job.report()["clocks"][0]["shifted"], "half a second")
    for seconds, shifted in (-90, True), (3, False):
        with Job(base, 16, clocks={1: seconds * SECOND}) as job:
            for path in job.path:
                edit(path, "DELETE FROM communicators")
            clock = job.report()["clocks"][0]
            check(clock["by"] == "range" and clock["shifted"] == shifted and abs(clock["ahead_ns"] - seconds * SECOND) < SECOND, clock)


# ---- digests and logs


def from_logs(folder):
    """Logs without digests and digests alone give the same report. An outdated digest is not used."""
    logs = [os.path.join(folder, f"{rank}.zst") for rank in range(4)]
    for rank, log in enumerate(logs):
        subprocess.run([os.environ["MAKE_GPU_LOG"], "rank", log, str(rank)], check=True)
    first = ranks(folder)
    subprocess.run([REPORT, "log", "digest", folder], check=True)
    check(ranks(folder) == first, "digests say something else than logs")
    check(ranks(*logs) == first and ranks(*(log + ".digest" for log in logs)) == first, "by their names")
    shutil.copy(logs[1] + ".digest", logs[0] + ".digest")
    check(ranks(folder) == first, "an old digest is believed")
    subprocess.run([REPORT, "log", "digest", folder], check=True)
    for log in logs:
        os.unlink(log)
    check(ranks(folder) == first, "digests without logs")
    check([f["rank"] for f in first["failed"]] == [1] and first["outliers"][0]["causes"][0]["path"] == "step > loss", first["outliers"])


def tables(base):
    """Folders of CSV have the same content as the digests."""
    with Job(base, 12) as job:
        out = os.path.join(job.folder, "out")
        check(run("--tables", out, job.folder).returncode == 0, "--tables")
        db = sqlite3.connect(job.path[7])
        for table, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            folders = sorted(os.listdir(os.path.join(out, table)))
            check(folders == sorted(f"rank={rank}" for rank in range(12)), table, folders)
            with open(os.path.join(out, table, "rank=7", "data.csv"), newline="") as f:
                header, *rows = csv.reader(f)
            found = db.execute(f"SELECT {', '.join(header)} FROM {table} ORDER BY rowid")
            check([["" if v is None else str(v) for v in row] for row in found] == rows, table, rows[:2])
        db.close()
        done = run("--tables", out, job.folder)
        check(done.returncode == 1 and out in done.stderr and done.stdout, "a directory that is not empty", done.stderr)


def bad(base):
    """A file that is not a digest is reported in one line. The other digests are still compared."""
    def edited(*statements):
        return lambda path: edit(path, *statements)

    def cut(path):
        with open(path, "r+b") as f:
            f.truncate(os.path.getsize(path) // 2)

    def replaced(content):
        def write(path):
            with open(path, "wb") as f:
                f.write(content)
        return write

    hostile = "CREATE VIEW heaps AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS process_id FROM n"
    for spoil, words in ((edited("PRAGMA user_version = 3"), "version 3"), (edited("PRAGMA user_version = 0"), "make the digest again"), (edited("PRAGMA application_id = 7"), "not a digest"), (edited("DROP TABLE heaps"), "no table heaps"),
                         (edited("DROP TABLE heaps", hostile), "no table heaps"), (edited("UPDATE heaps SET peak_bytes = -1"), "heaps.peak_bytes"),
                         (edited("UPDATE heaps SET peak_bytes = 'many'"), "heaps.peak_bytes"), (edited("DELETE FROM processes"), "one process"),
                         (edited("INSERT INTO series SELECT 1, 'host/heap', 1, 1, 1, 1, 1 FROM series AS a, series AS b"), "too many rows"),
                         (edited("UPDATE lines SET path = zeroblob(100000)"), "damaged"), (edited("ALTER TABLE heaps DROP COLUMN peak_ns"), "damaged"),
                         (cut, "damaged"), (replaced(b"no database at all, but long enough\n" * 100), "not a digest"), (replaced(b""), "not a digest")):
        with Job(base, 4) as job:
            spoil(job.path[1])
            done = run("--format", "json", job.folder)
            check(done.returncode == 1 and done.stderr.count("\n") == 1 and job.path[1] in done.stderr and words in done.stderr, words, done.stderr)
            result = json.loads(done.stdout)
            check(len(result["ranks"]) == 3 and result["missing"] == "1", words, "the others", result["missing"])
    with tempfile.TemporaryDirectory() as folder:
        for words in ([folder], [os.path.join(folder, "none.digest")], [os.path.join(folder, "none.zst")]):
            done = run(*words)
            check(done.returncode == 1 and done.stderr.count("\n") == 1 and words[0].removesuffix(".digest") in done.stderr and not done.stdout, words, done)
    check(run().returncode == 2, "no argument")


with tempfile.TemporaryDirectory() as folder:
    base = os.path.join(folder, "base")
    make_ranks.digest_of(REPORT, os.path.join(GOLDEN, "h100-fsdp-rank0.zst"), base)
    for each in seeded, causes, account, stages, missing, clocks, tables, bad:
        each(base)
    os.unlink(base)
    from_logs(folder)
