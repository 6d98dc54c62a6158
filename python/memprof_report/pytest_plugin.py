"""pytest --memprof: records the tests with memprof, each as a range, shows the tests with the largest peaks, and checks limits.

pytest runs itself again under `memprof run`. That second process makes the ranges and lists its tests; the first one then
reports."""
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import warnings

import pytest

from . import limits, measurement, program
from .limits import LEAKS, MEMORY
from .ranges import range as memory_range
from .ranges import recorded
from .reports import Reports

RANGE = "test"                      # the range of each test; the test's id is the range inside it
LISTS = "PYTEST_MEMPROF_LISTS"      # a folder with a file for each process: the ids of its tests, in order


def pytest_addoption(parser):
    group = parser.getgroup("memprof", "memory of the tests")
    group.addoption("--memprof", action="store_true", help="record the tests with memprof, show those with the largest peaks, and check their limits")
    group.addoption("--memprof-limit-memory", metavar="SIZE", help="limit_memory of tests without this marker, such as '1 GB'")
    group.addoption("--memprof-limit-leaks", metavar="SIZE", help="limit_leaks of tests without this marker")
    group.addoption("--memprof-output", metavar="DIR", help="keep the logs in DIR (default: they are removed)")
    group.addoption("--memprof-top", metavar="N", type=int, default=10, help="show N tests of each heap (default: 10)")
    group.addoption("--memprof-options", metavar="OPTIONS", default="", help="options of `memprof run`, such as --stacks=all")
    parser.addini("memprof", "true is the same as --memprof", type="bool", default=False)
    parser.addini("memprof_limit_memory", "the same as --memprof-limit-memory")
    parser.addini("memprof_limit_leaks", "the same as --memprof-limit-leaks")


def wanted(config):
    return config.option.memprof or config.getini("memprof")


def pytest_configure(config):
    for marker in limits.MARKERS:
        config.addinivalue_line("markers", marker)
    if wanted(config) and recorded():
        plugin = Recorded(config, os.environ.get(LISTS))
        config.pluginmanager.register(plugin, "memprof_recorded")
        config.pluginmanager.register(Stop(plugin), "memprof_stop")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    option = config.option
    if option.help or option.version or option.collectonly:
        return None
    if not wanted(config):
        if option.memprof_limit_memory or option.memprof_limit_leaks:
            raise pytest.UsageError("--memprof-limit-memory and --memprof-limit-leaks need --memprof")
        return None
    if recorded():
        return None
    if LISTS in os.environ:
        raise pytest.UsageError(f"--memprof: `memprof run` did not record this process ({sys.executable}): run `memprof run -- {sys.executable} -c 0` to see why")
    try:
        return record(config)
    except program.MemprofError as error:
        raise pytest.UsageError(f"--memprof: {error}") from error


def fail(outcome, text):
    """Makes a phase of a test fail with this text."""
    error = pytest.fail.Exception(text, pytrace=False)
    if hasattr(outcome, "force_exception"):
        outcome.force_exception(error)
    else:       # pluggy before 1.1
        outcome._result, outcome._excinfo = None, (type(error), error, None)


class Recorded:
    """Makes a range of each test in the recorded process, and decides its limits. A fixture belongs to no test."""

    def __init__(self, config, lists):
        self.lists, self.file = lists, None
        self.tests, self.top = [], config.option.memprof_top
        self.default = limits.Limits(self.default_of(config, MEMORY), self.default_of(config, LEAKS), 0)
        self.limits, self.check = {}, None

    @staticmethod
    def default_of(config, name):
        """Returns the limit of tests without this marker, or None."""
        value = getattr(config.option, "memprof_" + name) or config.getini("memprof_" + name)
        if not value:
            return None
        try:
            return limits.limit_of(value)
        except ValueError as error:
            raise pytest.UsageError(f"--memprof-{name.replace('_', '-')}: {error}") from error

    def pytest_collection_modifyitems(self, items):
        """Reads the limits of all tests, so that a mistake in one ends the run before the first test."""
        try:
            found = ((item, limits.limits_of(item, self.default)) for item in items)
            self.limits = {item: one for item, one in found if one.memory or one.leaks}
            if self.limits:
                limits.check_process(self.limits.values())
        except program.MemprofError as error:
            raise pytest.UsageError(str(error)) from error

    def note(self, test):
        """Notes a test for the report. With pytest-xdist there are several processes, and one of them runs no test."""
        if not self.lists:
            self.tests.append(test)
            return
        self.file = self.file or open(os.path.join(self.lists, str(os.getpid())), "a", encoding="utf-8")
        self.file.write(test.replace("\n", " ") + "\n")
        self.file.flush()

    def begin_check(self, item):
        self.end_check()
        for _ in range(self.limits[item].warmups):
            item.runtest()
        self.check = limits.Check(item, self.limits[item])

    def end_check(self):
        if self.check:
            self.check.end()
        self.check = None

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        self.note(item.nodeid)
        if item in self.limits:
            self.begin_check(item)
        with memory_range(RANGE), memory_range(item.nodeid):
            outcome = yield
        if self.check and outcome.excinfo:
            self.end_check()
        text = self.check and self.check.memory()
        if text:
            fail(outcome, text)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self):
        """Ends after all other plugins, such as pytest's own, which keeps log messages until then."""
        outcome = yield
        text = self.check and self.check.leaks()
        self.end_check()
        if text and not outcome.excinfo:
            fail(outcome, text)

    def pytest_terminal_summary(self):
        """Shows the report of a pytest that was started by `memprof run -- pytest --memprof`."""
        if not self.tests:
            return
        try:
            log = written_log()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")     # the log has no end yet
                print_tests(with_tests(Reports([log], pandas=False), self.tests), self.top)
            print(f"more: memprof-report steps --range {RANGE} {shlex.quote(log)}")
        except program.MemprofError as error:
            print(f"memprof: {error}")


def written_log():
    """Returns the path of the log of this process, which has all events up to now."""
    events = measurement.Measurement()
    events.read()
    events.end()
    return measurement.log_path()


class Stop:
    """Stops the measurement right after the test, before pytest stores its output."""

    def __init__(self, plugin):
        self.plugin = plugin

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_call(self):
        if self.plugin.check:
            self.plugin.check.stop()


# ---- the process that is not recorded

def itself(config):
    """Returns the command that runs this pytest again."""
    name = os.path.basename(sys.argv[0])
    start = [sys.argv[0]] if name in ("pytest", "py.test", "pytest-3") else ["-m", "pytest"]
    return [sys.executable, *start, *map(str, config.invocation_params.args)]


def wait(process):
    """Returns the exit status of a process. An interrupt reaches it directly if it comes from the terminal."""
    while True:
        try:
            status = process.wait()
            return status if status >= 0 else 128 - status
        except KeyboardInterrupt:
            pass


def run(words, env):
    """Runs a program and returns its exit status. SIGTERM is passed on to it, so that the report is still printed."""
    with subprocess.Popen(words, env=env) as process:
        if threading.current_thread() is not threading.main_thread():
            return wait(process)
        previous = signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        try:
            return wait(process)
        finally:
            signal.signal(signal.SIGTERM, previous)


def record(config):
    """Runs pytest under memprof, prints the report and returns the exit status."""
    with tempfile.TemporaryDirectory(prefix="pytest-memprof.") as place:
        logs, lists = config.option.memprof_output or os.path.join(place, "logs"), os.path.join(place, "lists")
        os.mkdir(lists)
        words = [program.find("memprof", "MEMPROF"), "run", "--quiet", "--output", logs, *shlex.split(config.option.memprof_options), "--", *itself(config)]
        program.find("memprof-report", "MEMPROF_REPORT")
        status = run(words, {**program.environment(), LISTS: lists})
        if status > 128:
            print(f"\nmemprof: the tests ended with signal {status - 128}")
        names = os.listdir(lists)
        if names:
            print_tests([row for name in names for row in of_process(logs, lists, name)], config.option.memprof_top)
        if config.option.memprof_output and os.path.isdir(logs):
            print(f"logs: {logs}; more: memprof-report steps --range {RANGE} {shlex.quote(logs)}")
        return status


def of_process(logs, lists, pid):
    """Returns a row for each heap and test of a process."""
    with open(os.path.join(lists, pid), encoding="utf-8") as file:
        ids = file.read().splitlines()
    return with_tests(Reports([logs], pid=pid, pandas=False), ids)


def with_tests(reports, ids):
    """Returns a row for each heap and test. ids: the tests, in their order."""
    return [{**row, "test": ids[row["peak_number"] - 1]} for row in reports.steps(range=RANGE) if row["peak_number"] <= len(ids)]


def print_tests(rows, top):
    """Prints the tests of each heap that needed most memory more than there was at their start."""
    print(" memory of the tests ".center(shutil.get_terminal_size().columns, "="))
    heaps = list(dict.fromkeys(row["heap"] for row in rows))
    for row in rows:
        row["above"] = row["peak_bytes"] - row["begin_bytes"]
    for heap in heaps:
        largest = sorted((row for row in rows if row["heap"] == heap and row["above"] > 0), key=lambda row: -row["above"])
        if not largest:
            continue
        print(f"{heap:14}{'at its peak':>14}{'kept':>14}{'allocations':>13}  test")
        for row in largest[:top]:
            print(f"{'':14}{'+' + limits.text_of(row['above']):>14}{limits.text_of(row['kept_bytes']):>14}{row['allocations']:>13,}  {row['test']}"
                  + ("  (did not end)" if row["unended"] else ""))
        if len(largest) > top:
            print(f"{'':14}({len(largest) - top} more)")
    if not any(row["above"] > 0 for row in rows):
        print("no test allocated memory that was recorded")
