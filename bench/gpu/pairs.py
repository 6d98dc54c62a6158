#!/usr/bin/env python3
"""Compares the step time under memprof and under PyTorch's own tools with that of bare runs, in interleaved processes.

  pairs.py LIBRARY [--kind launch|compute] [--pairs N] [--others N]

Each pair is a bare process and one under memprof, in alternating order. Each of the first --others pairs also has a process with
_record_memory_history() and one with torch.profiler(profile_memory=True). Prints the median of the ratios within pairs,
and the bounds of its 95 % interval (bootstrap over pairs)."""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

arguments = argparse.ArgumentParser()
arguments.add_argument("library")
arguments.add_argument("--kind", default="launch")
arguments.add_argument("--pairs", type=int, default=30)
arguments.add_argument("--others", type=int, default=3)
arguments = arguments.parse_args()
STEP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "step.py")
folder = tempfile.mkdtemp()


def run(name, number):
    log = f"{folder}/{number}.zst"
    env = dict(os.environ)
    if name == "memprof":
        env |= {"LD_PRELOAD": os.path.abspath(arguments.library), "MEMPROF_OUT": log, "MEMPROF_QUIET": "1"}
    tool = ["--with", name] if name in ("history", "profiler") else []
    out = subprocess.run([sys.executable, STEP, arguments.kind, *tool], env=env, stdout=subprocess.PIPE, check=True, text=True).stdout
    result = json.loads(out.splitlines()[-1])
    if name == "memprof":
        result["log"] = os.path.getsize(log)
    return result


def interval(values):
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(4000))
    return medians[100], medians[-101]


bare, ratios, cpus, others, log = [], [], [], {"history": [], "profiler": []}, 0
for number in range(arguments.pairs):
    order = ["bare", "memprof"] if number % 2 else ["memprof", "bare"]
    result = {name: run(name, number) for name in order}
    bare.append(result["bare"]["ms"])
    ratios.append(result["memprof"]["ms"] / result["bare"]["ms"])
    cpus.append(result["memprof"]["cpu_ms"] / result["bare"]["cpu_ms"])
    log = result["memprof"]["log"]
    for name in others if number < arguments.others else ():
        others[name].append(run(name, number)["ms"] / result["bare"]["ms"])

low, high = interval(ratios)
print(f"{arguments.kind}: bare {statistics.median(bare):.2f} ms a step; {arguments.pairs} pairs")
print(f"memprof   wall {statistics.median(ratios):.4f} of bare, 95 % {low:.4f} to {high:.4f}; "
      f"CPU {statistics.median(cpus):.3f} of bare; log {log / 1e6:.2f} MB a run")
for name, values in others.items():
    if values:
        print(f"{name:9} wall {statistics.median(values):.3f} of bare ({min(values):.3f} to {max(values):.3f})")
