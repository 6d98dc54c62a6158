"""The log of a program that uses the CUDA driver agrees with the program's own counters at each of its marks.

The argument is a program's name. With "by-name" memprof hooks the driver's calls by name instead of using CUPTI. CTest's
environment: GPU_PROGRAMS, GPU_CHECK, MEMPROF_LIB, MEMPROF_COMPANION (libmemprof-cuda.so, for by-name), and FAKE_CUDA_DIR
for the stand-ins. Without FAKE_CUDA_DIR the machine's driver and CUPTI are used."""
import os
import subprocess
import sys
import tempfile

TIMEOUT = 120       # seconds; only a hang takes longer
ENDS = {"oom": 3}   # exit statuses other than 0


def environment(log, by_name):
    env = {**os.environ, "LD_PRELOAD": os.environ["MEMPROF_LIB"], "MEMPROF_OUT": log, "MEMPROF_QUIET": "1"}
    if by_name:
        env.update(LD_PRELOAD=f"{env['LD_PRELOAD']}:{os.environ['MEMPROF_COMPANION']}", MEMPROF_CUDA="interpose")
    fake = os.environ.get("FAKE_CUDA_DIR")
    return {**env, "LD_LIBRARY_PATH": fake, "MEMPROF_CUPTI": f"{fake}/libcupti.so.13"} if fake else env


def main(program, way=""):
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log.zst")
        emulator = os.environ.get("MEMPROF_EMULATOR", "").split()
        done = subprocess.run([*emulator, os.path.join(os.environ["GPU_PROGRAMS"], program)], env=environment(log, way == "by-name"), timeout=TIMEOUT,
                              capture_output=True, text=True)
        if done.returncode != ENDS.get(program, 0) or done.stdout + done.stderr:
            sys.exit(f"{program} ended with {done.returncode} and printed: {done.stdout}{done.stderr}")
        check = subprocess.run([os.environ["GPU_CHECK"], log], timeout=TIMEOUT, capture_output=True, text=True)
        print(check.stdout, end="")
        sys.exit(check.returncode)


main(*sys.argv[1:])
