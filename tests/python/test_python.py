"""The Python package memprof_report: reports as tables, ranges, the magic of IPython and the plugin of pytest."""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import warnings

import mp

SOURCE = os.environ["MEMPROF_SOURCE"]
PACKAGE = os.path.join(SOURCE, "python")
GOLDEN = os.path.join(SOURCE, "tests/golden")
SPIKE = os.path.join(GOLDEN, "h100-spike.zst")
sys.path.insert(0, PACKAGE)

import memprof_report      # noqa: E402
from memprof_report import reports      # noqa: E402


def report(*words):
    done = subprocess.run([os.environ["MEMPROF_REPORT"], *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=mp.TIMEOUT)
    return json.loads(done.stdout)


def fails(function, *texts):
    """Checks that the call raises a MemprofError with these texts."""
    try:
        result = function()
    except memprof_report.MemprofError as error:
        for text in texts:
            mp.check(text in str(error), f"{text!r} is not in: {error}")
        return
    raise AssertionError(f"no error: {result}")


def warned(function):
    """Returns the result of the call and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return function(), caught


def interpreter(*modules):
    """Returns an interpreter that has these modules."""
    for python in (sys.executable, "python3", "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import " + ", ".join(modules)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
            return python
    raise mp.Skip(f"no interpreter has {' and '.join(modules)}: apt-get install {' '.join('python3-' + module.lower() for module in modules)}")


def needs(part):
    """Skips the test if memprof-report was built without SQLITE or PAGE."""
    if os.environ["MEMPROF_" + part] != "1":
        raise mp.Skip(f"memprof-report was built without {part}")


def environment(**more):
    env = {key: value for key, value in os.environ.items() if not key.startswith(("MEMPROF_", "PYTEST"))}
    path = os.pathsep.join(filter(None, [PACKAGE, os.environ.get("PYTHONPATH")]))
    tools = {key: os.environ[key] for key in ("MEMPROF", "MEMPROF_LIB", "MEMPROF_REPORT")}
    return {**env, **tools, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **more}


def run(python, script, *arguments, status=0, **popen):
    """Runs a script and returns its output."""
    done = subprocess.run([python, "-c", textwrap.dedent(script), *arguments], env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=mp.TIMEOUT, **popen)
    mp.equal(done.returncode, status, f"{done.stdout}: status")
    return done.stdout


def open_log(*paths, **options):
    return memprof_report.open(*paths, **{"pandas": False, **options})


# ---- reports

def test_reports_are_the_lists_of_the_json():
    log = open_log(SPIKE)
    expected = [{"heap": heap["heap"], **row} for heap in report("steps", "-f", "json", SPIKE)["heaps"] for row in heap["instances"]]
    mp.equal(log.steps(), expected, "steps")
    expected = [{"log": one["path"], "heap": heap["heap"], **row, "path": tuple(row["path"])}
                for one in report("peaks", "-f", "json", "--by", "python", "--at", "step:7", "--heap", "gpu0/torch", SPIKE)["logs"]
                for heap in one["heaps"] for row in heap["ranges"]]
    mp.equal(log.peaks(by="python", at="step:7", heap="gpu0/torch"), expected, "peaks")
    spans = report("timeline", "-f", "json", SPIKE)["heaps"][1]["spans"]
    mp.equal([row["max_bytes"] for row in log.timeline(heap="gpu0/torch")], spans["max_bytes"], "bytes of the timeline")


def test_bands_sum_up_to_the_timeline():
    log = open_log(SPIKE)
    sums = {}
    for row in log.bands(heap="gpu0/torch"):
        sums[row["start_ns"]] = sums.get(row["start_ns"], 0) + row["bytes_at_max"]
    mp.equal(sums, {row["start_ns"]: row["max_bytes"] for row in log.timeline(heap="gpu0/torch")}, "sums of the bands")


def test_columns_of_an_empty_result_are_those_of_others():
    logs = [SPIKE, *(os.path.join(GOLDEN, name) for name in ("python-leak.zst", "h200-graphs-oom.zst", "h200-findings.zst"))]
    for method, (_, _, empty) in reports.LISTS.items():
        rows = [row for path in logs for row in getattr(open_log(path), method)()]
        mp.check(rows, f"{method} has no rows")
        mp.equal([column for column in empty.split() if column not in rows[0]], [], f"{method}: columns that no row has")


def test_growing_sites_have_the_name_of_their_list():
    rows = open_log(os.path.join(GOLDEN, "python-leak.zst")).leaks(heap="host/python")
    growing = [row["path"] for row in rows if row["list"] == "growing"]
    mp.check(len(growing) == 1 and any("handle (python_leak.py:11)" in frame for frame in growing[0]), f"growing sites: {growing}")


def test_attributes_have_the_other_fields_of_the_report():
    attrs = open_log(SPIKE).steps().attrs
    mp.equal((attrs["range"], attrs["instances"], attrs["process"]["pid"]), ("step", 12, 2565), "attributes")


def test_whole_numbers_are_times_in_ns():
    log = open_log(SPIKE)
    step = log.steps(heap="gpu0/torch")[6]
    mp.equal(log.heaps(at=step["peak_time_ns"], heap="gpu0/torch")[0]["peak_bytes"], step["peak_bytes"], "bytes at the peak of step 7")
    fails(lambda: log.heaps(at=9.3), "at=9.3", "expected whole ns")


def test_blocks_have_the_names_of_their_owners():
    needs("SQLITE")
    log = open_log(SPIKE)
    rows = log.blocks(heap="gpu0/torch")
    fails(lambda: log.sql("SELECT x FROM blocks"), "no such column: x")
    mp.equal([(len(rows), sum(row["bytes"] for row in rows))], [tuple(row.values()) for row in log.sql("SELECT count(*), sum(bytes) FROM blocks WHERE heap = 'gpu0/torch'")],
             "blocks and bytes")
    mp.check(("step > backward", "step > torch:Optimizer.zero_grad#AdamW.zero_grad") in {(row["range"], row["freed_range"]) for row in rows},
             "no block of backward is freed in zero_grad")
    mp.equal(list(log.blocks(columns=["bytes", "range"], min="64MiB")[0]), ["bytes", "range"], "columns")


def test_database_is_removed_with_its_reports():
    needs("SQLITE")
    log = open_log(SPIKE)
    path = log.database()
    mp.equal(log.database(), path, "path of the second call")
    mp.check(os.path.exists(path), "no database")
    del log
    mp.check(not os.path.exists(path), f"{path} is left")


def test_other_reports_and_text_are_available():
    log = open_log(os.path.join(GOLDEN, "workers"), pid=3313)
    mp.equal(log.report("processes", pid=3316)["logs"][0]["process"]["pid"], 3316, "pid")
    mp.check("pid 3313" in log.text(), log.text())


def test_peaks_of_all_processes_have_the_log():
    rows = open_log(os.path.join(GOLDEN, "workers")).peaks(all=True, heap="host/heap")
    found = {os.path.basename(row["log"]) for row in rows}
    mp.equal(found, {f"python3.vm.{pid}.zst" for pid in (3313, 3315, 3316, 3318)}, "logs")


def test_page_is_written():
    needs("PAGE")
    page = open_log(SPIKE).page(os.path.join(mp.folder, "page.html"))
    with open(page, encoding="utf-8") as file:
        mp.check("<html" in file.read(1000), "no page")


def test_document_has_the_command_and_the_list_of_each_method():
    with open(os.path.join(SOURCE, "docs/python.md"), encoding="utf-8") as file:
        lines = [line.split("|") for line in file if line.startswith("| `")]
    documented = {method: (line[2].strip(" `"), line[3]) for line in lines for method in re.findall(r"`(\w+)\(", line[1])}
    for method, (command, steps, _) in reports.LISTS.items():
        mp.equal(documented[method][0], command, f"command of {method}")
        for name in steps.split(".")[-1].split("|"):
            mp.check(f"`{name}`" in documented[method][1], f"{method}: {name} is not in {documented[method][1]}")


# ---- messages

def test_unknown_column_names_the_columns():
    fails(lambda: open_log(SPIKE).peaks(columns=["path", "peak"]), "no column peak", "bytes_at_peak")
    fails(lambda: open_log(SPIKE).blocks(columns=["size"]), "no column size", "bytes, made_ns")
    mp.equal(list(open_log(SPIKE).peaks(columns=["path", "bytes_at_peak"])[0]), ["path", "bytes_at_peak"], "columns")


def test_errors_of_memprof_report_are_raised():
    fails(lambda: open_log(os.path.join(mp.folder, "none.zst")), "none.zst: no such file")
    fails(lambda: open_log(os.path.join(SOURCE, "README.md")).summary(), "README.md: not a memprof log")
    fails(lambda: open_log(SPIKE).peaks(at="step:99"), "no instance 99 of range step: 12 found")
    fails(lambda: open_log(SPIKE).peaks(by="size", foo=1), "unrecognized option '--foo=1'")
    fails(open_log, "no log: give the path")


def test_incomplete_log_is_a_warning_in_the_callers_line():
    rows, caught = warned(lambda: open_log(os.path.join(GOLDEN, "incomplete")).heaps())
    mp.equal([(one.category.__name__, os.path.basename(one.filename)) for one in caught], [("IncompleteLogWarning", "test_python.py")], "warnings")
    mp.check(rows and rows[0]["heap"] == "host/heap", f"no heaps: {rows}")


def test_choice_of_a_log_is_a_warning():
    _, caught = warned(lambda: open_log(os.path.join(GOLDEN, "workers")).steps())
    mp.check(len(caught) == 1 and "4 logs; showing pid 3315" in str(caught[0].message), f"warnings: {caught}")


def with_report(path, function):
    """Calls the function while MEMPROF_REPORT is another program."""
    saved = os.environ["MEMPROF_REPORT"]
    os.environ["MEMPROF_REPORT"] = path
    try:
        return function()
    finally:
        os.environ["MEMPROF_REPORT"] = saved


def test_missing_memprof_report_is_an_error():
    with_report("/nowhere/memprof-report", lambda: fails(open_log(SPIKE).summary, "MEMPROF_REPORT=/nowhere/memprof-report", "set it to"))
    script = "import memprof_report as m; m.open('/').summary()"
    env = {key: value for key, value in environment(PATH="/nowhere").items() if key != "MEMPROF_REPORT"}
    done = subprocess.run([sys.executable, "-c", script], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    mp.check("MemprofError: memprof-report is not installed: install memprof, add its folder to PATH, or set MEMPROF_REPORT" in done.stdout, done.stdout)


def test_older_memprof_report_is_named_in_the_error():
    path = os.path.join(mp.folder, "memprof-report")
    for answer in ("echo '{}'", "echo >&2 'memprof-report: unrecognized option'; exit 2"):
        with open(path, "w") as file:
            file.write(f'#!/bin/sh\n[ "$1" = --version ] && echo memprof-report 0.0.7 || {{ {answer}; }}\n')
        os.chmod(path, 0o755)
        with_report(path, lambda: fails(open_log(SPIKE).summary, "has version 0.0.7 and memprof_report has version " + memprof_report.__version__, "install both"))


def test_programs_are_found_beside_the_package():
    place = os.path.join(mp.folder, "lib/python3/dist-packages")
    shutil.copytree(PACKAGE, place, ignore=shutil.ignore_patterns("__pycache__"))
    os.mkdir(os.path.join(mp.folder, "bin"))
    os.symlink(os.environ["MEMPROF_REPORT"], os.path.join(mp.folder, "bin/memprof-report"))
    env = {key: value for key, value in environment(PYTHONPATH=place).items() if key != "MEMPROF_REPORT"}
    script = "from memprof_report import program; print(program.find('memprof-report', 'MEMPROF_REPORT'))"
    done = subprocess.run([sys.executable, "-c", script], env=env, stdout=subprocess.PIPE, text=True, check=True)
    mp.equal(done.stdout, os.path.join(os.path.realpath(mp.folder), "bin/memprof-report") + "\n", "path")


def test_version_is_that_of_the_project():
    with open(os.path.join(SOURCE, "CMakeLists.txt")) as file:
        mp.equal(memprof_report.__version__, re.search(r"project\(memprof VERSION ([0-9.]+)", file.read())[1], "version")


# ---- ranges

RANGES = """
    import threading
    import memprof_report

    @memprof_report.range()
    def load(size):
        return bytearray(size)

    @memprof_report.range("loaded by name")
    def named(size):
        return bytearray(size)

    def thread():
        with memprof_report.range("thread"):
            kept.append(bytearray(3 << 20))

    print(memprof_report.recorded())
    kept = [load(1 << 20), named(2 << 20)]
    worker = threading.Thread(target=thread)
    with memprof_report.range("outer"):
        worker.start()
        worker.join()
        try:
            with memprof_report.range("step 7"):
                kept.append(bytearray(4 << 20))
                memprof_report.snapshot("after load")
                raise ValueError
        except ValueError:
            kept.append(bytearray(5 << 20))
    with memprof_report.range("ünïcode"):
        kept.append(bytearray(6 << 20))
"""


def record(script):
    """Runs a script under memprof and returns its logs and its output."""
    path = os.path.join(mp.folder, "script.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(textwrap.dedent(script))
    done = mp.run([sys.executable, "-B", path], env={"PYTHONPATH": PACKAGE, "MEMPROF_REPORT": os.environ["MEMPROF_REPORT"]})
    mp.check("not a variable" not in done.err.decode(), done.err)
    return done.logs, done.out.decode()


def recorded(script):
    """Runs a script that starts no process under memprof and returns its log and its output."""
    logs, out = record(script)
    return logs.one(), out


def test_ranges_hold_the_memory_of_their_code():
    log, out = recorded(RANGES)
    mp.equal(out, "True\n", "output")
    for path, size in (("load", 1), ("loaded by name", 2), ("thread", 3), ("outer > step 7", 4), ("outer", 5), ("ünïcode", 6)):
        mp.within(log.range(path)["bytes_at_peak"], size << 20, (size << 20) + 8192, path)


def test_snapshot_is_an_instant_of_the_log():
    log, _ = recorded(RANGES)
    sizes = {row["path"]: row["bytes_at_peak"] for row in open_log(log.path).peaks(at="after load:1", by="range", heap="host/heap")}
    mp.within(sizes[("outer", "step 7")], 4 << 20, (4 << 20) + 8192, "bytes before the mark")
    mp.equal(sizes.get(("ünïcode",), 0), 0, "bytes after it")


def test_ranges_do_nothing_without_memprof():
    out = run(sys.executable, RANGES)
    mp.equal(out, "False\n", "output")
    script = "import memprof_report; print(memprof_report.recorded(), 'libmemprof' in open('/proc/self/maps').read())"
    for library in (os.environ["MEMPROF_LIB"], "/nowhere/libmemprof.so", "/lib/libc.so.6"):
        done = subprocess.run([sys.executable, "-c", script], env=environment(NVTX_INJECTION64_PATH=library), stdout=subprocess.PIPE, text=True, check=True)
        mp.equal(done.stdout, "False False\n", f"recorded and loaded with {library}")
    env = environment(LD_PRELOAD=os.environ["MEMPROF_LIB"], MEMPROF_PROGRAM="other", NVTX_INJECTION64_PATH=os.environ["MEMPROF_LIB"])
    mp.equal(subprocess.run([sys.executable, "-c", script], env=env, stdout=subprocess.PIPE, text=True).stdout, "False True\n", "in a program that is left out")


def test_reports_of_a_recorded_process_are_not_recorded():
    log, out = recorded(f"import memprof_report\nprint(len(memprof_report.open({SPIKE!r}, pandas=False).steps()))")
    mp.equal((log.json["process"]["command"][-1], out), (os.path.join(mp.folder, "script.py"), "24\n"), "the only log, and output")


def test_range_refuses_functions_that_are_suspended():
    def generator():
        yield

    async def coroutine():
        pass
    for function in (generator, coroutine):
        try:
            memprof_report.range("x")(function)
        except TypeError as error:
            mp.check(function.__name__ in str(error) and "without await and yield" in str(error), str(error))
        else:
            raise AssertionError(f"{function} was decorated")


def documented(comment):
    """Returns the code of docs/python.md that begins with this comment."""
    with open(os.path.join(SOURCE, "docs/python.md"), encoding="utf-8") as file:
        text = file.read()
    block = text[text.index(f"    # {comment}"):]
    return textwrap.dedent(re.match(r"(?:(?: {4}.*)?\n)+?(?=\S|    # [A-Za-z]+: )", block + "\nend")[0])


TRAINERS = """
    import os
    import sys
    import types

    class Callback:
        pass

    for name in ("lightning", "lightning.pytorch", "transformers"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["lightning"].pytorch = sys.modules["lightning.pytorch"]
    sys.modules["lightning.pytorch"].Callback = sys.modules["transformers"].TrainerCallback = Callback
    os.environ.update(RANK="3", LOCAL_RANK="1")
    kept = []

    def train(step):
        kept.append(bytearray(1 << 20))
"""
CALLS = {
    "Lightning": """
callback = Steps()
for step in range(5):
    callback.on_train_batch_start(None, None)
    train(step)
    callback.on_train_batch_end(None, None)
callback.on_train_epoch_end(types.SimpleNamespace(current_epoch=0), None)
""",
    "Transformers": """
callback = Steps()
for step in range(5):
    callback.on_step_begin(None, None, None, model=None)
    train(step)
    callback.on_step_end(None, None, None, model=None)
callback.on_save(None, types.SimpleNamespace(global_step=0), None)
""",
    "torchrun": """
for step in range(5):
    train_step(step)
""",
}


def test_documented_callbacks_of_trainers_make_steps():
    for trainer, calls in CALLS.items():
        log, out = recorded(textwrap.dedent(TRAINERS) + documented(f"{trainer}: ") + calls)
        steps = open_log(log.path).steps(range="step", heap="host/heap")
        mp.equal(len(steps), 5, f"{trainer}: steps")
        for step in steps:
            mp.within(step["kept_bytes"], 1 << 20, (1 << 20) + 8192, f"{trainer}: bytes that a step kept")
        if trainer == "torchrun":
            mp.equal(out.splitlines(), [f"rank 3, step {step}: 0 MiB" for step in range(5)], "output")
        else:
            mark = {"Lightning": "epoch 0", "Transformers": "checkpoint 0"}[trainer]
            mp.check(open_log(log.path).heaps(at=f"{mark}:1", heap="host/heap")[0]["peak_bytes"] >= 5 << 20, f"{trainer}: bytes at the mark")


# ---- measurements

MEASURED = """
    import ctypes
    import os
    import threading
    import memprof_report

    MIB = 1 << 20
    libc = ctypes.CDLL(None)
    libc.malloc.restype = libc.realloc.restype = ctypes.c_void_p
    libc.malloc.argtypes, libc.free.argtypes, libc.realloc.argtypes = [ctypes.c_size_t], [ctypes.c_void_p], [ctypes.c_void_p, ctypes.c_size_t]

    def show(memory, heap="host/heap"):
        print(memory.peak_bytes[heap] // MIB, memory.live_bytes[heap] // MIB)

    old = libc.malloc(64 * MIB)
    with memprof_report.measure() as memory:
        libc.free(old)
        first, second = libc.malloc(8 * MIB), libc.malloc(4 * MIB)
        libc.free(first)
        second = libc.realloc(second, 5 * MIB)
    show(memory)
    show(memory, "host")
    with memprof_report.measure() as outer:
        libc.free(second)
        thread = threading.Thread(target=libc.malloc, args=[7 * MIB])
        with memprof_report.measure() as inner:
            thread.start()
            thread.join()
        kept = libc.malloc(3 * MIB)
    show(inner)
    show(outer)
    with memprof_report.measure() as memory:
        kept = libc.realloc(kept, 1 << 62) or kept      # fails
        libc.free(kept)
    print(sorted(memory.peak_bytes)[0], memory.live_bytes["host"] < 10000)
    with memprof_report.measure() as parents:
        pid = os.fork()
        if not pid:
            libc.malloc(16 * MIB)
            try:
                parents.__exit__()
            except memprof_report.MemprofError as error:
                print(error, flush=True)
            with memprof_report.measure() as memory:
                libc.malloc(2 * MIB)
            show(memory)
            os._exit(0)
        os.waitpid(pid, 0)
    print(parents.peak_bytes["host"] < MIB)
    """


def test_measurement_counts_what_was_allocated_in_it():
    _, out = record(MEASURED)
    mp.equal(out.splitlines(), ["12 5", "12 5", "7 7", "10 10", "host True", "there is no such measurement: it was ended, or this is a forked child",
                                "2 2", "True"], "peak and live MiB")


def test_measurement_is_that_of_the_log():
    log, out = recorded("""
        import memprof_report
        kept = []
        for step in range(30):
            with memprof_report.range("step"), memprof_report.measure() as memory:
                for i in range(step):
                    kept.append(bytearray(1000 * i))
                kept[:] = kept[step // 2:]
            print(memory.peak_bytes["host/heap"], memory.heaps["host/heap"].allocations)
        """)
    measured = [tuple(map(int, line.split())) for line in out.splitlines()]
    steps = open_log(log.path).steps(range="step", heap="host/heap")
    mp.equal(len(steps), 30, "steps")
    for step, (peak, allocations) in zip(steps, measured):
        mp.within(step["allocations"] - allocations, 0, 12, f"{step}: allocations of the range outside of its measurement")
        mp.check(peak >= step["peak_bytes"] - step["begin_bytes"] - 20000, f"{step}: peak of {peak} bytes")


def test_memory_can_be_measured_only_in_a_recorded_process():
    fails(memprof_report.measure().__enter__, "this process is not recorded", "memprof run")


def test_older_library_is_named_in_the_error():
    _, out = recorded("""
        import types
        from memprof_report import MemprofError, measurement
        measurement.library = lambda: types.SimpleNamespace(_name="/old/libmemprof.so")
        try:
            measurement.Measurement()
        except MemprofError as error:
            print(error)
        """)
    mp.equal(out, "/old/libmemprof.so is older than this package and cannot measure: install both from one build\n", "output")


def test_lost_events_leave_a_limit_undecided():
    _, out = recorded("""
        import warnings
        from memprof_report import limits, measurement

        class Item:
            name, nodeid = "test_one", "test_some.py::test_one"

        def read(number, rows, room, lost):
            lost._obj.value = 7
            return 0
        check = limits.Check(Item, limits.Limits(limits.limit_of("1 KB"), None, 0))
        keep = bytearray(100_000)
        print(check.memory() is not None)
        measurement.functions().memprof_measure_read = read
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            print(check.memory(), caught[0].message)
        """)
    mp.equal(out.splitlines(), ["True", "None test_some.py::test_one: its memory limits are undecided: 7 events were lost"], "output")


def test_ninth_measurement_is_refused():
    _, out = recorded("""
        from memprof_report import MemprofError
        from memprof_report.measurement import Measurement
        made = [Measurement() for _ in range(8)]
        try:
            Measurement()
        except MemprofError as error:
            print(error)
        made.pop().end()
        Measurement().end()
        made[0].end()
        try:
            made[0].read()
        except MemprofError as error:
            print(error)
        """)
    mp.equal(out, "there are eight measurements already: end one of them\nthere is no such measurement: it was ended, or this is a forked child\n", "output")


# ---- pytest

TESTS = """
    import os
    import signal

    kept = []

    def test_frees():
        large = bytearray(8 << 20)
        large = bytearray(6 << 20)

    def test_keeps():
        kept.append(bytearray(2 << 20))

    class TestClass:
        def test_method(self):
            small = bytearray(1 << 20)
            assert "fail" not in os.environ
            if "kill" in os.environ:
                os.kill(os.getpid(), signal.SIGKILL)
            if "wait" in os.environ:
                open(os.environ["wait"], "w").close()
                signal.pause()
"""
PLUGIN = ["-q", "-p", "memprof_report.pytest_plugin", "-p", "no:cacheprovider"]


def pytest(*options, status=0, tests=TESTS, **more):
    """Runs the tests and returns the output."""
    python = interpreter("pytest")
    with open(os.path.join(mp.folder, "test_some.py"), "w") as file:
        file.write(textwrap.dedent(tests))
    done = subprocess.run([python, "-m", "pytest", *PLUGIN, *options], cwd=mp.folder, env=environment(**more), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=mp.TIMEOUT)
    mp.equal(done.returncode, status, f"{done.stdout}: status")
    return done.stdout


def interrupted(send):
    """Runs the tests until the last one waits, calls the function, and returns the status and the output."""
    python, waits = interpreter("pytest"), os.path.join(mp.fresh("waits"), "waits")
    with open(os.path.join(mp.folder, "test_some.py"), "w") as file:
        file.write(textwrap.dedent(TESTS))
    process = subprocess.Popen([python, "-m", "pytest", *PLUGIN, "--memprof"], cwd=mp.folder, env=environment(wait=waits), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    mp.wait_for(lambda: os.path.exists(waits) or process.poll() is not None)
    send(process)
    try:
        out, _ = process.communicate(timeout=mp.TIMEOUT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return process.returncode, out


def table(out):
    """Returns the rows for host/heap: the test, its peak and what it kept, both in MiB."""
    rows = out.split("host/heap ", 1)[1].splitlines()[1:]
    found = [re.match(r" +\+([0-9.]+) (\w+) +([0-9.]+) (\w+) +[0-9,]+  test_some.py::(.*)", row) for row in rows]
    return [(row[5], float(row[1]), float(row[3])) if row[4] == "MiB" else (row[5], float(row[1]), 0) for row in found if row and row[2] == "MiB"]


def check_table(out, expected):
    rows = table(out)
    mp.equal([row[0] for row in rows], [row[0] for row in expected], f"{out}: tests")
    for (test, peak, kept), (_, least, least_kept) in zip(rows, expected):
        mp.within(peak, least, least + 0.1, f"{test}: peak")
        mp.within(kept, least_kept, least_kept + 0.1, f"{test}: kept")


def test_pytest_shows_the_tests_with_the_largest_peaks():
    out = pytest("--memprof")
    mp.check("3 passed" in out, out)
    check_table(out, [("test_frees", 14, 0), ("test_keeps", 2, 2), ("TestClass::test_method", 1, 0)])
    out = pytest("--memprof", "--memprof-top=1")
    mp.check([row[0] for row in table(out)] == ["test_frees"] and "(2 more)" in out, out)


def test_pytest_under_memprof_run_shows_its_own_report():
    python = interpreter("pytest")
    with open(os.path.join(mp.folder, "test_some.py"), "w") as file:
        file.write(textwrap.dedent(TESTS))
    done = subprocess.run([os.environ["MEMPROF"], "run", "-q", "-o", "logs", "--", python, "-m", "pytest", *PLUGIN, "--memprof"], cwd=mp.folder, env=environment(),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=mp.TIMEOUT)
    mp.check(done.returncode == 0 and "3 passed" in done.stdout, f"status {done.returncode}: {done.stdout}")
    check_table(done.stdout, [("test_frees", 14, 0), ("test_keeps", 2, 2), ("TestClass::test_method", 1, 0)])
    log, = glob.glob(os.path.join(mp.folder, "logs/*.zst"))
    mp.check(f"more: memprof-report steps --range test {log}" in done.stdout, done.stdout)


def test_pytest_without_the_option_records_nothing():
    mp.check("memory of the tests" not in pytest(), "a report")


def test_pytest_ends_with_the_status_of_the_tests():
    out = pytest("--memprof", status=1, fail="1")
    mp.check("1 failed, 2 passed" in out and "TestClass::test_method" in out.split("memory of the tests")[1], out)
    out = pytest("--memprof", "--memprof-options=--nonsense", status=2)
    mp.check("unrecognized option '--nonsense'" in out and "memory of the tests" not in out, out)
    out = pytest("--memprof", status=4, MEMPROF="/nowhere/memprof")
    mp.check("MEMPROF=/nowhere/memprof is not a program" in out, out)


LIMITED = """
    import ctypes
    import logging
    import mmap
    import threading
    import warnings
    import pytest

    kept = []

    @pytest.mark.limit_memory("10 MB")
    def test_below():
        bytearray(9 << 20)

    @pytest.mark.limit_memory("10 MB")
    def test_heap():
        a, b, c = bytearray(8 << 20), bytearray(3 << 20), [bytearray(2000) for _ in range(500)]

    @pytest.mark.limit_memory("10 MB")
    def test_mapping():
        mmap.mmap(-1, 11 << 20)

    @pytest.mark.limit_memory("10 MB")
    def test_thread():
        thread = threading.Thread(target=lambda: bytearray(12 << 20))
        thread.start()
        thread.join()

    @pytest.mark.limit_memory(gpu="1 MB")
    def test_host_is_not_limited():
        bytearray(12 << 20)

    @pytest.mark.xfail
    @pytest.mark.limit_memory("10 MB")
    def test_expected():
        bytearray(12 << 20)

    @pytest.mark.limit_memory("1 MB")
    def test_fails():
        kept = bytearray(12 << 20)
        assert not kept

    @pytest.mark.limit_memory("10 MB")
    def test_after_a_failure():
        bytearray(9 << 20)

    @pytest.mark.limit_leaks("1 MB")
    def test_leak():
        kept.append(bytearray(2 << 20))

    @pytest.mark.limit_leaks("1 MB")
    def test_leak_of_small_objects():
        kept.append([str(n) * 5 for n in range(100_000)])

    @pytest.mark.limit_leaks("1 MB")
    def test_freed():
        kept.append(bytearray(2 << 20))
        del kept[-1]
        small = [str(n) * 5 for n in range(300_000)]
        kept.append(small[::10_000])       # keeps all arenas mapped

    @pytest.mark.limit_leaks("1 MB")
    def test_few_objects_in_a_new_arena():
        kept.append([str(n) * 5 for n in range(4000)])

    @pytest.fixture
    def cleaned():
        rows = []
        yield rows
        rows.clear()

    @pytest.mark.limit_leaks("1 MB")
    def test_freed_by_a_fixture(cleaned):
        cleaned.append(bytearray(2 << 20))

    @pytest.mark.limit_leaks("1 MB")
    def test_output_is_no_leak(caplog):
        caplog.set_level("INFO")
        for n in range(200):
            logging.info("x" * 10_000)
            print("y" * 10_000)

    @pytest.mark.limit_leaks("1 MB", warmups=1)
    def test_cache_is_filled_before():
        if not hasattr(test_cache_is_filled_before, "cache"):
            test_cache_is_filled_before.cache = bytearray(2 << 20)
"""


def failures_of(out):
    """Returns {test: lines} of the failures that pytest prints."""
    found = re.split(r"^_+ (?:ERROR at teardown of )?(\w+) _+$", re.split(r"\n=+ short test summary", out)[0], flags=re.MULTILINE)
    return {name: [line for line in text.splitlines() if line and not line.startswith("====")] for name, text in zip(found[1::2], found[2::2])}


def test_pytest_limits_fail_the_tests_that_exceed_them():
    needs("SQLITE")
    out = pytest("--memprof", "--show-capture=no", status=1, tests=LIMITED)
    mp.check("4 failed, 10 passed, 1 xfailed, 2 errors" in out, out)
    failures = failures_of(out)
    mp.equal(set(failures), {"test_heap", "test_mapping", "test_thread", "test_fails", "test_leak", "test_leak_of_small_objects"}, "failures")
    del failures["test_fails"]
    for name, lines in failures.items():
        mp.within(len(lines), 2, 20, f"lines of {name}: {lines}")
    mp.check(re.match(r"test_heap allocated up to 11.9\d MiB of host memory \(12,5[0-9,]+ bytes\), 1.9\d MiB more than its limit_memory of 10 MB$",
                      failures["test_heap"][0]), failures["test_heap"])
    for name, site in (("test_heap", "11.00 MiB in 2 blocks: test_heap (test_some.py:"), ("test_mapping", "11.00 MiB in 1 block: test_mapping (test_some.py:"),
                       ("test_thread", "12.00 MiB in 1 block: test_thread.<locals>.<lambda> (test_some.py:"),
                       ("test_leak", "2.00 MiB in 1 block: test_leak (test_some.py:"), ("test_leak_of_small_objects", "pymalloc arena")):
        mp.check(site in failures[name][1], f"{site} is not the largest call site: {failures[name]}")
    mp.check("test_leak did not free 2.00 MiB of host memory" in failures["test_leak"][0], failures["test_leak"])


def test_pytest_limits_hold_in_every_process_of_xdist():
    needs("SQLITE")
    if subprocess.run([interpreter("pytest"), "-c", "import xdist"], stderr=subprocess.DEVNULL).returncode:
        raise mp.Skip("pytest-xdist is not installed")
    out = pytest("--memprof", "-n2", status=1, tests=LIMITED)
    mp.equal(set(failures_of(out)), {"test_heap", "test_mapping", "test_thread", "test_fails", "test_leak", "test_leak_of_small_objects"}, "failures")
    mp.check("test_some.py::test_below" in out.split("memory of the tests")[1], out)


def test_pytest_markers_do_nothing_without_the_option():
    out = pytest("-W", "error", "-k", "heap or leak", tests=LIMITED)
    mp.check("passed" in out, out)


def test_pytest_default_limit_is_that_of_tests_without_a_marker():
    tests = """
        import pytest

        def test_large():
            bytearray(6 << 20)

        def test_small():
            pass

        @pytest.mark.limit_memory("8 MB")
        def test_marked():
            bytearray(6 << 20)
        """
    for options, ini in ((["--memprof", "--memprof-limit-memory=5 MB"], ""), ([], "[pytest]\nmemprof = true\nmemprof_limit_memory = 5 MB\n")):
        with open(os.path.join(mp.folder, "pytest.ini"), "w") as file:
            file.write(ini)
        out = pytest(*options, status=1, tests=tests)
        mp.equal((set(failures_of(out)), "1 failed, 2 passed" in out), ({"test_large"}, True), out)
    os.remove(os.path.join(mp.folder, "pytest.ini"))
    out = pytest("--memprof", "--memprof-limit-leaks=1 MB", tests=TESTS.replace("2 << 20", "2 << 10"))
    mp.check("3 passed" in out, out)


def test_pytest_names_mistakes_in_limits():
    tests = """
        import pytest

        @pytest.mark.limit_memory(LIMIT)
        def test_one():
            pass
        """
    for limit, text in (("'10 XB'", "test_some.py::test_one: limit_memory: invalid size '10 XB': expected bytes, or a text such as '100 MB'"), ("", "no limit is given"),
                        ("'1 MB', current_thread_only=True", "unexpected keyword argument 'current_thread_only'"), ("-1", "invalid size -1")):
        out = pytest("--memprof", status=4, tests=tests.replace("LIMIT", limit))
        mp.check(text in out and "passed" not in out, f"{limit}: {out}")
    mp.check("need --memprof" in pytest("--memprof-limit-memory=1MB", status=4), "no error without --memprof")
    mp.check("--memprof-limit-leaks: invalid size 'much'" in pytest("--memprof", "--memprof-limit-leaks=much", status=4), "no error for an invalid option")


def test_pytest_names_what_limits_need():
    out = pytest("--memprof", "--memprof-options=--host=large", status=4, tests=LIMITED)
    mp.check("limits of host memory need all blocks of malloc: leave out the option --host" in out, out)
    fake = os.path.join(mp.folder, "memprof")
    with open(fake, "w") as file:
        file.write('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n')
    os.chmod(fake, 0o755)
    out = pytest("--memprof", status=4, tests=LIMITED, MEMPROF=fake)
    mp.check("`memprof run` did not record this process" in out and "passed" not in out, out)


def test_pytest_shows_the_test_that_was_killed():
    out = pytest("--memprof", "--memprof-output", os.path.join(mp.folder, "logs"), status=137, kill="1")
    mp.check("memprof: the tests ended with signal 9" in out, out)
    check_table(out, [("test_frees", 14, 0), ("test_keeps", 2, 2), ("TestClass::test_method  (did not end)", 1, 1)])
    mp.check(open_log(os.path.join(mp.folder, "logs")).steps().attrs["range"] == "test", "the logs were not kept")


def interrupt(process):
    """Sends SIGINT as a terminal does: once to each process. `memprof run` passes it on, because it is not from a terminal."""
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
        launcher, = file.read().split()
    os.kill(process.pid, signal.SIGINT)
    os.kill(int(launcher), signal.SIGINT)


def test_pytest_shows_the_tests_before_an_interrupt():
    status, out = interrupted(interrupt)
    mp.check(status == 2 and "KeyboardInterrupt" in out, f"status {status}: {out}")
    mp.equal([row[0] for row in table(out)], ["test_frees", "test_keeps", "TestClass::test_method"], "tests")
    status, out = interrupted(lambda process: process.terminate())
    mp.check(status == 143 and "the tests ended with signal 15" in out, f"status {status}: {out}")
    mp.equal([row[0] for row in table(out)], ["test_frees", "test_keeps", "TestClass::test_method  (did not end)"], "tests")


# ---- IPython

def test_ipython_runs_a_cell_under_memprof():
    out = run(interpreter("IPython"), """
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance()
        shell.run_line_magic("load_ext", "memprof_report")
        log = shell.run_cell("%%memprof --stacks=all\\nimport sys\\nx = bytearray(30 << 20)\\nprint('made <', len(x))").result
        print("the cell is named", "cell.py:2" in log.text("peaks", heap="host/heap"))
        log.place.cleanup()
        print(shell.run_cell("%%memprof\\n1 / 0").result is not None)
        shell.run_cell("%%memprof -o logs\\n1 / 0")
        from memprof_report.ipython import Summary
        print(Summary("a < b", page='"page"')._repr_html_())
        """)
    lines = out.splitlines()
    mp.equal(lines[0], "made < 31457280", "output of the cell")
    mp.check(any(line.startswith("host/heap ") for line in lines), f"no summary: {out}")
    mp.check("the cell is named True" in lines, out)
    mp.check("ZeroDivisionError: division by zero" in out and "the cell ended with status 1" in out, out)
    mp.check("UsageError: %%memprof chooses the folder of the log" in out, out)
    mp.check(lines[-1].startswith('<pre>a &lt; b</pre><iframe srcdoc="&quot;page&quot;"'), lines[-1])


# ---- pandas, other versions of Python

def test_reports_are_data_frames_with_pandas():
    needs("SQLITE")
    python = interpreter("pandas")
    out = run(python, """
        import sys
        import memprof_report
        log = memprof_report.open(sys.argv[1])
        steps = log.steps(heap="gpu0/torch")
        print(steps.loc[steps.peak_stands_out, "name"].tolist(), steps.attrs["range"])
        print(steps.peak_change_bytes.dtype, steps.peak_bytes.dtype, log.blocks().freed_ns.dtype)
        peaks = log.peaks(heap="gpu0/torch")
        print(peaks.groupby("path").bytes_at_peak.sum().sum() == log.heaps(heap="gpu0/torch").peak_bytes[0])
        blocks = log.blocks()
        rows = memprof_report.open(sys.argv[1], pandas=False).blocks()
        key = lambda row: (row["made_ns"], row["address"], row["heap"])
        found = blocks.astype(object).where(blocks.notna(), None).to_dict("records")
        print(sorted(found, key=key) == sorted(rows, key=key), log.blocks(heap="host/mmap").shape)
        print(log.graphs().empty, "alive_at_end" in log.graphs())
        print(type(memprof_report.open(sys.argv[1], pandas=False).graphs()).__name__)
        """, SPIKE)
    mp.equal(out.splitlines(), ["['step:7'] step", "Int64 int64 Int64", "True", "True (0, 12)", "True True", "Rows"], "output")


def test_documented_examples_print_what_the_document_says():
    python = interpreter("pandas")
    done = subprocess.run([python, "-m", "doctest", "-o", "NORMALIZE_WHITESPACE", "docs/python.md"], cwd=SOURCE, env=environment(), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    mp.equal((done.returncode, done.stdout), (0, ""), "doctest")


def test_package_runs_in_every_supported_python():
    tested = []
    for python in [shutil.which("python3"), "/usr/bin/python3", *sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")))]:
        version = subprocess.run([python, "-c", "import sys; print(*sys.version_info[:2])"], stdout=subprocess.PIPE, text=True).stdout.split()
        if [int(number) for number in version] >= [3, 9]:
            out = run(python, "import sys, memprof_report; print(len(memprof_report.open(sys.argv[1], pandas=False).steps()))", SPIKE)
            mp.equal(out, "24\n", f"instances in {python}")
            tested.append(python)
    mp.check(tested, "no Python of version 3.9 or later")


if __name__ == "__main__":
    mp.main()
