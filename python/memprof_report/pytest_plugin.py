"""pytest --memprof: records the tests with memprof, each as a range, and shows the tests with the largest peaks.

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

import pytest

from . import program
from .ranges import range as memory_range
from .ranges import recorded
from .reports import Reports

RANGE = "test"                      # the range of each test; the test's id is the range inside it
LISTS = "PYTEST_MEMPROF_LISTS"      # a folder with a file for each process: the ids of its tests, in order


def pytest_addoption(parser):
    group = parser.getgroup("memprof", "memory of the tests")
    group.addoption("--memprof", action="store_true", help="record the tests with memprof, and show those with the largest peaks")
    group.addoption("--memprof-output", metavar="DIR", help="keep the logs in DIR (default: they are removed)")
    group.addoption("--memprof-top", metavar="N", type=int, default=10, help="show N tests of each heap (default: 10)")
    group.addoption("--memprof-options", metavar="OPTIONS", default="", help="options of `memprof run`, such as --stacks=all")


def pytest_configure(config):
    if config.option.memprof and recorded():
        config.pluginmanager.register(Ranges(os.environ.get(LISTS)), "memprof_ranges")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    option = config.option
    if not option.memprof or recorded() or option.help or option.version or option.collectonly:
        return None
    try:
        return record(config)
    except program.MemprofError as error:
        raise pytest.UsageError(f"--memprof: {error}") from error


class Ranges:
    """Makes a range of each test in the recorded process. A fixture belongs to no test."""

    def __init__(self, lists):
        self.lists = lists

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        if self.lists:
            with open(os.path.join(self.lists, str(os.getpid())), "a", encoding="utf-8") as file:
                print(item.nodeid.replace("\n", " "), file=file)
        with memory_range(RANGE), memory_range(item.nodeid):
            yield

    def pytest_terminal_summary(self, terminalreporter):
        if not self.lists:
            terminalreporter.line(f"memprof: each test is an instance of the range `{RANGE}`: memprof-report steps --range {RANGE} LOG")


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
    rows = Reports([logs], pid=pid, pandas=False).steps(range=RANGE)
    return [{**row, "test": ids[row["peak_number"] - 1]} for row in rows if row["peak_number"] <= len(ids)]


def size(count):
    """Returns bytes as memprof-report writes them."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            break
        count /= 1024
    else:
        unit = "TiB"
    return f"{count} B" if unit == "B" else f"{count:.2f} {unit}"


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
            print(f"{'':14}{'+' + size(row['above']):>14}{size(row['kept_bytes']):>14}{row['allocations']:>13,}  {row['test']}"
                  + ("  (did not end)" if row["unended"] else ""))
        if len(largest) > top:
            print(f"{'':14}({len(largest) - top} more)")
    if not any(row["above"] > 0 for row in rows):
        print("no test allocated memory that was recorded")
