"""The counts, peaks and live sets of real programs equal the exact counts of a library below memprof."""
import json
import os
import shutil
import sys

import mp
from test_failures import mount, small_disk

SCRIPT = """
import json, sqlite3, random, zlib
random.seed(1)
rows = [(i, random.random(), "x" * random.randrange(200)) for i in range(20000)]
db = sqlite3.connect(":memory:")
db.execute("create table t (a, b, c)")
db.executemany("insert into t values (?, ?, ?)", rows)
text = json.dumps(db.execute("select * from t order by b").fetchall())
assert zlib.decompress(zlib.compress(text.encode())) == text.encode()
"""


def same_counts(argv, preload=None, **popen):
    """Runs the program over the oracle, and checks that its counts and memprof's agree to the byte."""
    out = os.path.join(mp.fresh("oracle"), "counters.json")
    log = mp.run(argv, preload=[mp.victim("liboracle.so")] if preload is None else preload, env={"ORACLE_OUT": out, "PYTHONMALLOC": "malloc"}, **popen).logs.one()
    mp.whole(log)
    with open(out, encoding="utf-8") as f:
        oracle = json.load(f)
    naive, heap = mp.naive_reader(log.path), log.heap()
    for key in ("allocations", "frees", "failures", "peak_bytes"):
        mp.equal(heap[key], oracle[key], key)
    mp.equal(heap["end_bytes"], oracle["live_bytes"], "live bytes")
    mp.equal(heap["blocks_at_peak"], oracle["peak_blocks"], "blocks at the peak")
    mp.equal(sorted(map(tuple, naive["live"])), sorted(map(tuple, oracle["live"])), "live set")
    mp.check(heap["allocations"] > 1000, f"too little happened to prove anything: {heap['allocations']} allocations")


def program(name):
    path = shutil.which(name)
    if not path:
        raise mp.Skip(f"{name} is not installed")
    return path


def test_totals_match_the_oracle_for_python():
    same_counts([sys.executable, "-c", SCRIPT])


def test_totals_match_the_oracle_for_jq():
    same_counts([program("jq"), "-n", "[range(50000) | {a: ., b: \"x\\(.)\"}] | group_by(.a % 7) | map(length)"])


def test_totals_match_the_oracle_for_sqlite():
    same_counts([program("sqlite3"), ":memory:", "with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000)"
                " select count(*), max(s) from (select i % 1000 as k, group_concat(hex(i)) as s from n group by k)"])


def test_totals_match_an_oracle_in_ld_so_preload():
    """Libraries in /etc/ld.so.preload follow those in LD_PRELOAD. One of them serves the program without taking calls
    away from memprof."""
    with small_disk("4m") as disk:
        for name in ("upper", "work"):
            os.mkdir(os.path.join(disk, name))
        mount("-t", "overlay", "overlay", "-o", f"lowerdir=/etc,upperdir={disk}/upper,workdir={disk}/work", "/etc")
        with open("/etc/ld.so.preload", "w", encoding="utf-8") as f:
            f.write(mp.victim("liboracle.so") + "\n")
        try:
            same_counts([mp.victim("work"), "3000"], preload=[])
        finally:
            os.unlink("/etc/ld.so.preload")


def test_totals_match_the_oracle_for_a_cxx_program():
    same_counts([mp.victim("work_cxx")])


def test_totals_match_the_oracle_for_500_threads():
    """Concurrent threads have no fixed order. Each of these holds its block until all have one, so the peak is always
    the same."""
    same_counts([mp.victim("threads"), "live", "500"])


def test_totals_match_the_oracle_for_mixed_block_sizes():
    same_counts([mp.victim("work"), "200000"])


if __name__ == "__main__":
    mp.main()
