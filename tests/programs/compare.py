"""What a program's tests say bare and under memprof, test by test."""
from results import FAILED, PASSED, SKIPPED

MISSING = "did not run"


def results(attempts, name):
    return {a["tests"].get(name, MISSING) for a in attempts}


def unlike(bare, memprof):
    """Tests of a unit that have no result in common, of all attempts."""
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
