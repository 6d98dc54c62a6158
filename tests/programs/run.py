#!/usr/bin/env python3
"""Runs the tests of real programs with and without memprof, and compares them test by test, for the table of docs/VALIDATION.md.

  run.py [PROGRAM...]             downloads, builds and runs everything that has no result yet, then prints the table
  run.py --table [PROGRAM...]     prints the table of the results so far, and each difference

Programs, their results and their output are in --work. The script needs no root. If it runs as root, tests run as nobody.
A unit whose tests differ is run again with and without memprof, up to three times. A test that has a result in common after
that is not a difference."""
import argparse
import concurrent.futures
import fnmatch
import json
import os
import shutil
import subprocess
import sys

import compare
import ways
from programs import PROGRAMS

ALLOCATORS = ("glibc", *ways.mp.ALLOCATORS)
ATTEMPTS = 3
TREE = os.path.abspath(os.path.join(ways.HERE, "../.."))


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"of {', '.join(PROGRAMS)}; default: all")
    p.add_argument("--allocators", default=",".join(ALLOCATORS), help="a list with commas (default: %(default)s)")
    p.add_argument("--units", default="", help="a list with commas, with patterns as in t0*: these of all that the program has (default: a selection)")
    p.add_argument("--jobs", type=int, default=1, help="so many units at once, where their program bears that (default: %(default)s)")
    p.add_argument("--build", default=f"{TREE}/build/dev", help="the build folder whose libmemprof.so and memprof-report are tried")
    p.add_argument("--work", default="/tmp/programs", help="default: %(default)s")
    p.add_argument("--again", action="store_true", help="results that are there count for nothing")
    p.add_argument("--table", action="store_true", help="run nothing")
    args = p.parse_args()
    for name in args.programs:
        if name not in PROGRAMS:
            p.error(f"{name} is none of {', '.join(PROGRAMS)}")
    return args


def tools(args):
    """Copies the library and the report to a place that builds do not change and that the tests' user can read."""
    where = f"{args.work}/memprof"
    os.makedirs(where, exist_ok=True)
    paths = [f"{where}/libmemprof.so", f"{where}/memprof-report"]
    for path, built in zip(paths, ("preload/libmemprof.so", "postproc/memprof-report")):
        new = f"{path}.{os.getpid()}"
        shutil.copy2(f"{args.build}/{built}", new)
        os.rename(new, path)
    return paths


def stored(args, program, allocator, unit):
    return f"{args.work}/results/{program.name}/{allocator}/{unit.replace('/', '.')}.json"


def load(path):
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def attempt_both(args, program, allocator, unit, tools_):
    """Runs a unit with and without memprof until the results agree, up to three times, and returns the attempts."""
    attempts = {ways.BARE: [], ways.MEMPROF: []}
    for _ in range(ATTEMPTS):
        for way, so_far in attempts.items():
            so_far.append(ways.run(program, unit, way, allocator, args.work, tools_))
        if not compare.unlike(*attempts.values()):
            break
    return attempts


def matching(args, names):
    return [n for n in names if any(fnmatch.fnmatchcase(n, pattern) for pattern in args.units.split(","))]


def units(args, program):
    return matching(args, program.all_units(args.work)) if args.units else program.units(args.work)


def run_units(args, task, tools_):
    for program, allocator, unit in task:
        path = stored(args, program, allocator, unit)
        if os.path.exists(path) and not args.again:
            continue
        attempts = attempt_both(args, program, allocator, unit, tools_)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            json.dump(attempts, f, indent=1)
        say(program, allocator, unit, attempts)


def tasks(args, program):
    """Returns lists of (program, allocator, unit). Each list runs in order. A program whose units run alone has one
    list."""
    every = [(program, allocator, unit) for unit in units(args, program) for allocator in args.allocators.split(",")]
    return [every] if program.alone else [[one] for one in every]


def run(args, chosen, tools_):
    for program in chosen:
        program.prepare(args.work)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        running = [pool.submit(run_units, args, task, tools_) for program in chosen for task in tasks(args, program)]
        for one in concurrent.futures.as_completed(running):
            one.result()


def say(program, allocator, unit, attempts):
    bare, memprof = attempts.values()
    last = memprof[-1]
    unlike = compare.unlike(bare, memprof)
    print(f"{program.name} {allocator} {unit}: {len(last['tests'])} results, {bare[-1]['seconds']} s and {last['seconds']} s, {last['logs']} logs;"
          f" attempts {len(memprof)}; different {unlike or 0}; faults {last['faults'] or 0} {last['unread']}", flush=True)


def row(args, program, allocator, details):
    """Returns a row of the table from the units that have run. Differences that need an explanation are added to
    `details`."""
    listed = program.all_units(args.work)
    ran = [(u, a) for u in (matching(args, listed) if args.units else listed) if (a := load(stored(args, program, allocator, u)))]
    if not ran:
        return None
    counts = compare.summed(compare.count(a[ways.BARE]) for _, a in ran)
    unlike = [n for _, a in ran for n in compare.unlike(*a.values())]
    unsteady = [n for _, a in ran for n in compare.unsteady(*a.values())]
    memprof = [x for _, a in ran for x in a[ways.MEMPROF]]
    faults = compare.summed(x["faults"] for x in memprof)
    details += [f"{program.name} {allocator} differs: {n}" for n in unlike] + [f"{program.name} {allocator} unsteady: {n}" for n in unsteady]
    details += [f"{program.name} {allocator} {u}: {x['faults']} {x['unread']} {x.get('kept', '')}" for u, a in ran for x in a[ways.MEMPROF]
                if x["faults"] or x["unread"]]
    faults_text = ", ".join(f"{v:,} {k.replace('_', ' ')}" for k, v in faults.items()) or "0"
    return (f"| {program.title} {program.version(args.work)} | {allocator} | {len(ran)} | {counts['passed']:,} | {counts['failed']:,} |"
            f" {counts['skipped']:,} | {len(unlike)} | {len(unsteady)} | {sum(x['logs'] for x in memprof):,} | {faults_text} |")


def table(args, chosen):
    details = []
    print("| program | allocator | units | passed | failed bare, too | skipped | differences | unsteady | logs | faults in logs |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for program in chosen:
        for allocator in args.allocators.split(","):
            line = row(args, program, allocator, details)
            if line:
                print(line)
    if details:
        print("", *details, sep="\n")


def main():
    args = arguments()
    chosen = [PROGRAMS[n] for n in args.programs or PROGRAMS]
    if not args.table:
        run(args, chosen, tools(args))
    table(args, chosen)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as failed:
        sys.exit(f"programs: {failed}")
