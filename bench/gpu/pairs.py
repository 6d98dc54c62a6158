#!/usr/bin/env python3
"""Compares the step time under memprof and under PyTorch's own tools with that of bare runs, in interleaved processes.

  pairs.py LIBRARY [MODE ...] [--kind launch|compute] [--rounds N] [--others N]

A MODE is a name with memprof's settings, as sample:MEMPROF_HOST=sample,MEMPROF_STACKS=off (default: one without
settings). Each round is a bare process and one in each mode, in an order that changes. Each of the first --others rounds
also has a process with _record_memory_history() and one with torch.profiler(profile_memory=True). Prints the medians of
the ratios to the round's bare process, and the bounds of the median's 95 % interval (bootstrap over rounds)."""
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
arguments.add_argument("--rounds", type=int, default=30)
arguments.add_argument("--others", type=int, default=3)
arguments.add_argument("modes", nargs="*", default=["memprof"])
arguments = arguments.parse_args()
STEP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "step.py")
TOOLS = ("history", "profiler")
MODES = {name: dict(pair.split("=", 1) for pair in settings.split(",") if pair)
         for name, _, settings in (mode.partition(":") for mode in arguments.modes)}
folder = tempfile.mkdtemp()


def run(name):
    log = f"{folder}/{name}.zst"
    env = dict(os.environ)
    if name in MODES:
        env |= {"LD_PRELOAD": os.path.abspath(arguments.library), "MEMPROF_OUT": log, "MEMPROF_QUIET": "1"} | MODES[name]
    tool = ["--with", name] if name in TOOLS else []
    out = subprocess.run([sys.executable, STEP, arguments.kind, *tool], env=env, stdout=subprocess.PIPE, check=True, text=True).stdout
    result = json.loads(out.splitlines()[-1])
    if name in MODES:
        result["log"] = os.path.getsize(log)
    return result


def interval(values):
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(4000))
    return medians[100], medians[-101]


rounds = []
for number in range(arguments.rounds):
    names = ["bare", *MODES]
    names = names[number % len(names):] + names[:number % len(names)]
    rounds.append({name: run(name) for name in names + list(TOOLS if number < arguments.others else ())})

print(f"{arguments.kind}: bare {statistics.median(r['bare']['ms'] for r in rounds):.2f} ms a step; {len(rounds)} rounds")
for name in (*MODES, *TOOLS):
    results = [(r[name], r["bare"]) for r in rounds if name in r]
    if not results:
        continue
    walls = [result["ms"] / bare["ms"] for result, bare in results]
    low, high = interval(walls)
    cpu = statistics.median(result["cpu_ms"] / bare["cpu_ms"] for result, bare in results)
    log = f"; log {results[-1][0]['log'] / 1e6:.2f} MB a run" if name in MODES else ""
    print(f"{name:9} wall {statistics.median(walls):.3f} of bare, 95 % {low:.3f} to {high:.3f}; CPU {cpu:.3f} of bare{log}")
