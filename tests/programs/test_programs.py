"""run.py reads and compares results correctly, and leaves no process of a unit behind."""
import argparse
import os
import signal
import subprocess
import sys
import tempfile

import mp

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(HERE)
import compare  # noqa: E402
import results  # noqa: E402
import run  # noqa: E402
from programs import Program  # noqa: E402


def reap(seconds, command):
    return subprocess.run([sys.executable, f"{HERE}/reap.py", str(seconds), "-", "/bin/sh", "-c", command], stdout=subprocess.PIPE,
                          timeout=mp.TIMEOUT, check=False)


def test_tap_results_are_parsed():
    text = "ok 1 - one\nnot ok 2 - two\nok 3 # skip no terminal\nnot ok 4 - four # TODO known breakage\nokay\nok 5 - one\n1..5\n"
    mp.equal(results.tap(text), {"one": "passed", "two": "failed", "3": "skipped", "four": "failed", "one (2)": "passed"}, "results")
    mp.equal(results.tap("1..0 # SKIP no curl\n"), {"all": "skipped"}, "results of a script that has nothing to run")


def test_redis_results_are_parsed():
    text = "\x1b[0;32m[ok]\x1b[0m: SET and GET (3 ms)\n[err]: HSET in tests/unit/type/hash.tcl\nexpected 1\n[skip]: large memory\n[ready]: 77\n"
    mp.equal(results.redis(text), {"SET and GET": "passed", "HSET": "failed", "large memory": "skipped"}, "results")


def test_junit_results_are_parsed():
    cases = '<testcase name="a"/><testcase name="b"><failure/></testcase><testcase name="c"><skipped/></testcase><testcase name="d"><error/></testcase>'
    with tempfile.NamedTemporaryFile("w", dir=mp.folder, suffix=".xml", delete=False) as f:
        f.write(f"<testsuites>{cases}</testsuites>")
    mp.equal(results.junit(f.name), {"a": "passed", "b": "failed", "c": "skipped", "d": "failed"}, "results")
    mp.equal(results.junit(f.name + ".none"), {}, "results of a unit that wrote none")


def attempts(*states):
    return [{"tests": {"always": "passed", **({"t": s} if s else {})}} for s in states]


def test_result_differs_only_if_no_attempt_agrees():
    mp.equal(compare.unlike(attempts("passed"), attempts("failed")), ["t"], "another result")
    mp.equal(compare.unlike(attempts("passed"), attempts(None)), ["t"], "a test that did not run")
    mp.equal(compare.unlike(attempts("failed"), attempts("failed")), [], "fails without memprof, too")
    flaky = attempts("passed", "failed"), attempts("failed", "failed")
    mp.equal((compare.unlike(*flaky), compare.unsteady(*flaky)), ([], ["t"]), "a flaky test")


def test_timeout_counts_as_no_result():
    """A hang under memprof is a difference for the unit and its tests, even if another attempt did not reach them."""
    late = {"tests": {"a": "passed", "status": "status 124"}}
    whole = {"tests": {"a": "passed", "b": "passed", "status": "passed"}}
    mp.equal(compare.unlike([whole, late], [late, late]), ["b", "status"], "never ends under memprof")
    mp.equal(compare.unlike([late], [late]), ["status"], "never ends")
    mp.equal((compare.unlike([whole, late], [late, whole]), compare.unsteady([whole, late], [late, whole])), ([], []), "both ends occur with and without memprof")


class Three(Program):
    def units(self, work):
        return ["t01"]

    def all_units(self, work):
        return ["t00", "t01", "t10"]


def tasks(alone, units):
    program = Three()
    program.alone = alone
    args = argparse.Namespace(units=units, allocators="a,b", work="")
    return [[(allocator, unit) for _, allocator, unit in task] for task in run.tasks(args, program)]


def test_only_selected_units_run():
    """Runs the default selection, unless units are given, in parallel, or one after the other for a program that must
    be alone."""
    mp.equal(tasks(False, ""), [[("a", "t01")], [("b", "t01")]], "tasks without named units")
    mp.equal(tasks(False, "t1?,none"), [[("a", "t10")], [("b", "t10")]], "by a pattern, of all that it has")
    mp.equal(tasks(True, "t0*"), [[("a", "t00"), ("b", "t00"), ("a", "t01"), ("b", "t01")]], "alone, unit by unit")


def test_exit_statuses_are_passed_on():
    mp.equal([reap(60, c).returncode for c in ("exit 7", "kill -9 $$", "true")], [7, 137, 0], "statuses")


def test_units_do_not_ignore_signals():
    """Signals are as in a job that a shell runs in the background."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    mp.equal(reap(60, "kill -INT $$").returncode, 130, "status")


def test_leftover_processes_of_a_unit_are_killed():
    """Also ends processes that have their own session and no parent, and processes that still run at the timeout."""
    for seconds, command, status in (60, "setsid sleep 1000 >/dev/null & echo $!", 0), (1, "sleep 1000 >/dev/null & echo $!; sleep 1000", 124):
        done = reap(seconds, command)
        mp.equal(done.returncode, status, "status")
        mp.check(not os.path.exists(f"/proc/{int(done.stdout)}"), f"a process of {command} is left")


if __name__ == "__main__":
    mp.main()
