"""Compares the results of a program's tests without and with memprof, test by test."""
from results import FAILED, PASSED, SKIPPED

MISSING = "did not run"
LATE = "status 124"         # the status that reap.py reports for a timeout


def results(attempts, name):
    """Returns the results of a test. An attempt that timed out has no result for tests that it did not reach, and is
    not a result itself."""
    each = (a["tests"].get(name, LATE if LATE in a["tests"].values() else MISSING) for a in attempts)
    return {result for result in each if result != LATE}


def unlike(bare, memprof):
    """Returns the tests of a unit that have no result in common, and those that never ended."""
    names = sorted({name for a in bare + memprof for name in a["tests"]})
    return [n for n in names if not results(bare, n) & results(memprof, n)]


def unsteady(bare, memprof):
    """Returns the tests that had different results without memprof or with it, and one result in common."""
    names = sorted({name for a in bare + memprof for name in a["tests"]})
    either = ((n, results(bare, n), results(memprof, n)) for n in names)
    return [n for n, b, m in either if b & m and (len(b) > 1 or len(m) > 1)]


def count(attempts):
    """Returns {result: tests} of the first attempt. The status of the unit is not a test if the unit has others."""
    tests = {n: r for n, r in attempts[0]["tests"].items() if not n.endswith(": status") or len(attempts[0]["tests"]) == 1}
    kinds = [r if r in (PASSED, SKIPPED) else FAILED for r in tests.values()]
    return {k: kinds.count(k) for k in (PASSED, FAILED, SKIPPED)}


def summed(dicts):
    total = {}
    for d in dicts:
        for key, value in d.items():
            total[key] = total.get(key, 0) + value
    return total
