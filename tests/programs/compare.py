"""What a program's tests say bare and under memprof, test by test."""
from results import FAILED, PASSED, SKIPPED

MISSING = "did not run"
LATE = "status 124"         # as of reap.py


def results(attempts, name):
    """What a test said.  An attempt that ran out of time says nothing of what it did not come to, and is no result itself."""
    said = (a["tests"].get(name, LATE if LATE in a["tests"].values() else MISSING) for a in attempts)
    return {result for result in said if result != LATE}


def unlike(bare, memprof):
    """Tests of a unit that have no result in common, of all attempts; so has one that never came to its end."""
    names = sorted({name for a in bare + memprof for name in a["tests"]})
    return [n for n in names if not results(bare, n) & results(memprof, n)]


def unsteady(bare, memprof):
    """Tests that had two results in one of the ways, and one in common."""
    names = sorted({name for a in bare + memprof for name in a["tests"]})
    either = ((n, results(bare, n), results(memprof, n)) for n in names)
    return [n for n, b, m in either if b & m and (len(b) > 1 or len(m) > 1)]


def count(attempts):
    """{result: tests} of the first attempt; the line of the unit's own status is no test, if it has others."""
    tests = {n: r for n, r in attempts[0]["tests"].items() if not n.endswith(": status") or len(attempts[0]["tests"]) == 1}
    kinds = [r if r in (PASSED, SKIPPED) else FAILED for r in tests.values()]
    return {k: kinds.count(k) for k in (PASSED, FAILED, SKIPPED)}


def summed(dicts):
    total = {}
    for d in dicts:
        for key, value in d.items():
            total[key] = total.get(key, 0) + value
    return total
