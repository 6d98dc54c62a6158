"""Functions shared by the tests of exports. CTest's environment: MEMPROF_REPORT, GOLDEN, and a variable for each
program that makes logs."""
import json
import os
import subprocess
import sys

REPORT, GOLDEN = os.environ["MEMPROF_REPORT"], os.environ["GOLDEN"]


def check(good, *what):
    if not good:
        sys.exit(" ".join(str(w) for w in what))


def report(command, log, *options):
    return json.loads(subprocess.run([REPORT, command, "--format", "json", *options, log], stdout=subprocess.PIPE, check=True).stdout)


def golden(name):
    return os.path.join(GOLDEN, f"{name}.zst")


def made(folder, maker, *scenario):
    path = os.path.join(folder, f"{scenario[0]}.zst")
    subprocess.run([os.environ[maker], scenario[0], path, *scenario[1:]], check=True)
    return path
