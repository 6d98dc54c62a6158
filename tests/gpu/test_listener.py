"""A tool in the program that listens to CUPTI gets the same callbacks with memprof, and the log agrees with the program's
counters.

CTest's environment: as for test_capture.py (MEMPROF_COMPANION for `by_name`), and GPU_WRAPPER for `wrapped`."""
import os
import subprocess
import sys
import tempfile

TIMEOUT = 120       # seconds; only a hang takes longer
FAKE = os.environ.get("FAKE_CUDA_DIR")
TWO = """\
subscribe: 0
subscribe: 0
first is one of two: allocs 3 returned 3 infos 3 wrong words 0
second is one of two: allocs 2 returned 2 infos 2 wrong words 0
unsubscribe: 0
first is gone: allocs 7 returned 7 infos 7 wrong words 0
second is left: allocs 10 returned 10 infos 6 wrong words 0
more: 0
more: 0
more: 0
more: 39
"""                 # 39: CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED


def listener(what, status=0, **env):
    if FAKE:
        env = {"LD_LIBRARY_PATH": FAKE, "MEMPROF_CUPTI": f"{FAKE}/libcupti.so.13", **env}
    program, argument = ("wrapped", os.environ["GPU_WRAPPER"]) if what == "wrapped" else ("listener", what)
    done = subprocess.run([os.path.join(os.environ["GPU_PROGRAMS"], program), argument], env={**os.environ, **env}, timeout=TIMEOUT,
                          capture_output=True, text=True)
    if done.returncode != status or (done.stderr and not status):
        sys.exit(f"{program} {argument} ended with {done.returncode} and printed: {done.stdout}{done.stderr}")
    return done.stdout


def compare(output, expected):
    if output != expected:
        sys.exit(f"expected output of the tool:\n{expected}\nits output:\n{output}")


def main(what):
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log.zst")
        under = {"LD_PRELOAD": os.environ["MEMPROF_LIB"], "MEMPROF_OUT": log, "MEMPROF_QUIET": "1"}
        if what == "alone":     # CUPTI serves only memprof, and the tool gets an error
            compare(listener("late", 1, **under, MEMPROF_CUPTI="alone"), "subscribe: 39\n")
            return
        if what == "apart":     # memprof leaves CUPTI to the tool, or does not record this program
            for order in "early", "late", "wrapped":
                bare = listener(order)
                compare(listener(order, **under, MEMPROF_CUPTI="off"), bare)
                compare(listener(order, **under, MEMPROF_PROGRAM="another"), bare)
            return
        if what == "by_name":   # memprof hooks calls by name, and the tool uses CUPTI
            under.update(LD_PRELOAD=f"{under['LD_PRELOAD']}:{os.environ['MEMPROF_COMPANION']}", MEMPROF_CUDA="interpose")
            what = "early"
            compare(listener("late", **under), listener("late"))
            os.unlink(log)
        if what == "missing":   # libmemprof-cuda.so is missing, so memprof and the tool share CUPTI
            under["MEMPROF_CUDA"] = "interpose"
            what = "early"
            compare(listener("late", **under), listener("late"))
            os.unlink(log)
        if what == "newer" and FAKE:
            under["FAKE_CUPTI_SEVERAL"] = "1"
        compare(listener(what, **under), TWO if what == "two" else listener(what))
        check = subprocess.run([os.environ["GPU_CHECK"], log], timeout=TIMEOUT, capture_output=True, text=True)
        print(check.stdout, end="")
        sys.exit(check.returncode)


main(sys.argv[1])
