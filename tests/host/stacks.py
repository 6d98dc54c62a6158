"""Reads the call stacks of a log from memprof-report."""
import os
import subprocess

import mp


def report(log, *options):
    return subprocess.run([os.environ["MEMPROF_REPORT"], *options, log.path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=mp.TIMEOUT, text=True).stdout


def folded(log, heap="host/heap"):
    """Returns {"main;grow_buffer": bytes} of the heap at its peak. Functions have no places."""
    stacks = {}
    for line in report(log, "peaks", "--tree", "--folded", "--heap", heap).splitlines():
        path, size = line.rsplit(" ", 1)
        names = ";".join(frame.split(" (")[0] for frame in path.split(";"))
        stacks[names] = stacks.get(names, 0) + int(size)
    return stacks


def has_symbols():
    version = subprocess.run([os.environ["MEMPROF_REPORT"], "--version"], stdout=subprocess.PIPE, text=True).stdout
    log = mp.run([mp.victim("stacks"), "malloc"]).logs.one()
    if "without libdw" in report(log, "peaks", "--tree") + version:
        raise mp.Skip("memprof-report was built without libdw")
