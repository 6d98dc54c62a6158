"""Digests of a job with many ranks, made from those of real logs: rank, node, communicators and clocks are changed, and chosen ranks
differ.

make_ranks.py REPORT FOLDER RANKS LOG...    a job for benchmarks: rank i is made from LOG i modulo their number; some ranks have more
memory in one line"""
import os
import random
import shutil
import sqlite3
import subprocess
import sys

A_NODE = 8
START = 1700000000 * 10**9
MADE_NS = 2 * 10**9             # after the job's start, when communicators are created
LINE = "step > experts.{0..7} > alltoall"
ALIKE = "step > experts.{n} > alltoall"


def digest_of(report, log, path):
    done = subprocess.run([report, "log", "digest", "-o", path, log])
    if done.returncode not in (0, 3):
        sys.exit(f"{log}: no digest")


def add(db, heap, more):
    db.execute("UPDATE heaps SET peak_bytes = peak_bytes + ? WHERE heap = ?", (more, heap))
    db.execute("UPDATE series SET max_bytes = max_bytes + ? WHERE rowid = (SELECT rowid FROM series WHERE heap = ? ORDER BY max_bytes DESC LIMIT 1)", (more, heap))


def hold_more(db, heap, more, path=LINE, alike=ALIKE):
    """Adds these bytes to the heap's peak, to a separate line and to the device's account, and for PyTorch's heap also
    to the device's heap."""
    add(db, heap, more)
    db.execute("INSERT INTO lines SELECT 1, ?, ?, NULL, ?, ?, 1, 0, 1, 0, 0, 1", (heap, path, alike, more))
    if heap.endswith("/torch"):
        device = heap.replace("/torch", "/device")
        add(db, device, more)
        db.execute("INSERT INTO lines SELECT 1, ?, 'segments', NULL, 'segments', ?, 1, 0, 1, 0, 0, 1", (device, more))
        db.execute("UPDATE device_parts SET bytes = bytes + ? WHERE part = 'torch_live'", (more,))
        db.execute("UPDATE devices SET used_bytes = used_bytes + ?", (more,))


def place(db, rank, ranks, clock_ns=0):
    """Sets a rank's identity and its communicators: of all ranks, of its node, and of the ranks with the same place on
    other nodes."""
    node, own = divmod(rank, A_NODE)
    late = random.Random(rank).randrange(10**8)             # ns by which it started after the others
    db.execute("UPDATE processes SET rank = ?, host = ?, process = ?, parent_process = 1, start_realtime_ns = ?, file = ?",
               (str(rank), f"n{node:03}", 1000 + own, START + late + clock_ns, f"train.n{node:03}.{1000 + own}.zst"))
    db.execute("DELETE FROM communicators")
    nodes = (ranks + A_NODE - 1) // A_NODE
    for name, size, at, use in ((0xa11, ranks, rank, "ncclAllReduce"), (0xb000 + node, min(A_NODE, ranks), own, "ncclAllGather"),
                                (0xc000 + own, nodes, node, "ncclReduceScatter")):
        db.execute("INSERT INTO communicators VALUES (1, 0, ?, ?, ?, ?, ?, ?, 100)", (hex(name), size, at, use, MADE_NS - late, 100 << 20))


def make(folder, base, rank, ranks, clock_ns=0, change=None):
    """Makes the digest of a rank from an existing one. `change` is called with its database."""
    path = os.path.join(folder, f"train.n{rank // A_NODE:03}.{1000 + rank % A_NODE}.zst.digest")
    shutil.copy(base, path)
    db = sqlite3.connect(path)
    db.execute("PRAGMA synchronous=OFF")
    place(db, rank, ranks, clock_ns)
    if change:
        change(db)
    db.commit()
    db.close()
    return path


def main():
    report, folder, ranks, *logs = sys.argv[1:]
    bases = []
    for i, log in enumerate(logs):
        bases.append(os.path.join(folder, f"base{i}"))
        digest_of(report, log, bases[-1])
    seeded = random.Random(1).sample(range(int(ranks)), 5)
    for rank in range(int(ranks)):
        more = (1 + seeded.index(rank)) << 30 if rank in seeded else 0
        make(folder, bases[rank % len(bases)], rank, int(ranks), change=lambda db: more and hold_more(db, "gpu0/torch", more))
    for base in bases:
        os.unlink(base)


if __name__ == "__main__":
    main()
