#!/usr/bin/env python3
"""Measures the figures of docs/BENCHMARKS.md, and prints its tables.

  figures.py [--rounds N] [--gpu ROUNDS] [PART ...]     PART: time instructions hook launch report gpu (default: all but gpu)

Programs and inputs are those of the target `bench` of a release build, $MEMPROF_BUILD (default build/release). If a program
is not installed, its part is a message. Ratios are within rounds, in which all modes take turns with a bare run before each."""
import argparse
import datetime
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("MEMPROF_BUILD", os.path.join(HERE, "../build/release")))
LIBRARY, WORK = os.path.join(BUILD, "preload/libmemprof.so"), os.path.join(BUILD, "bench/host/work")
REPORT, LAUNCHER = os.path.join(BUILD, "postproc/memprof-report"), os.path.join(BUILD, "launcher/memprof")
PROBE = f"LD_PRELOAD={BUILD}/bench/limit/live.so LIVE_OUT={{out}}/log"
MODES = {"default": "", "stacks=all": "MEMPROF_STACKS=all", "sample": "MEMPROF_HOST=sample", "large": "MEMPROF_HOST=large", "off": "MEMPROF_HOST=off"}
WORKLOADS = "sqlite3 jq python3 churn1 churn4".split()


def under(settings, log):
    return f"MEMPROF_QUIET=1 MEMPROF_OUT={log} {settings} LD_PRELOAD={LIBRARY}"


def rows(header, lines):
    print(f"\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for line in lines:
        print(f"| {' | '.join(line)} |")


def spread(values, digits=2):
    return f"{statistics.median(values):.{digits}f} [{min(values):.{digits}f}-{max(values):.{digits}f}]"


def results_of(rounds, out):
    """Runs bench.py and returns its records."""
    peers = {**{name: under(settings, "{out}/m.zst") for name, settings in MODES.items()}, "probe": PROBE, "bare again": ""}
    names = [*peers, *(["heaptrack"] if shutil.which("heaptrack") else [])]
    loads = [w for w in WORKLOADS if w.startswith("churn") or shutil.which(w)]
    command = [sys.executable, os.path.join(HERE, "host/bench.py"), "time", "-r", str(rounds), "-w", ",".join(loads), "-p", ",".join(names)]
    for name, prefix in peers.items():
        command += ["--add", f"{name}={prefix}"]
    subprocess.run(command, check=True, stdout=sys.stderr, env={**os.environ, "MEMPROF_BUILD": BUILD, "BENCH_OUT": out})
    with open(os.path.join(out, "results.jsonl"), encoding="utf-8") as f:
        return loads, names, [json.loads(line) for line in f]


def measure_time(arguments):
    with tempfile.TemporaryDirectory() as out:
        loads, names, records = results_of(arguments.rounds, out)
    calls = {r["w"]: r["calls"] for r in records if r["kind"] == "count"}

    def pairs(name, load):
        return [r for r in records if r["kind"] == "pair" and r["p"] == name and r["w"] == load]

    def rss(name, load):
        return next(r["target"] for r in records if r["kind"] == "rss" and r["p"] == name and r["w"] == load)

    tables = {
        "Wall time, ratio to bare": lambda n, w: spread([r["run"]["wall"] / r["bare"]["wall"] for r in pairs(n, w)]),
        "Processor time of all processes, ns added per call": lambda n, w: spread([(r["run"]["cpu"] - r["bare"]["cpu"]) * 1e9 / calls[w] for r in pairs(n, w)], 0),
        "Log, bytes per call": lambda n, w: f"{statistics.median(r['log'] for r in pairs(n, w)) / calls[w]:.2f}",
        "Resident memory added to the program, MiB": lambda n, w: f"{(rss(n, w) - rss('bare', w)) / 1024:.1f}"}
    for title, cell in tables.items():
        print(f"\n{title}:")
        rows(["", *loads], [[name, *(cell(name, w) for w in loads)] for name in names])


def instructions(settings, operations):
    """Returns the instructions of a run of churn, all threads."""
    env = {**os.environ, **dict(pair.split("=", 1) for pair in settings.split())}
    with tempfile.TemporaryDirectory() as out:
        if settings:
            env["MEMPROF_OUT"] = os.path.join(out, "m.zst")
        done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}/cg", WORK, "churn", "-n", str(operations), "-t", "1"], env=env,
                              capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def measure_instructions(_):
    if not shutil.which("valgrind"):
        return print("\nvalgrind is not installed: no instructions.")
    few, many = 100000, 300000

    def per_call(settings):
        return (instructions(settings, many) - instructions(settings, few)) / (many - few)

    bare = per_call("")
    print(f"\nInstructions added per malloc or free (callgrind, churn, without start and end; bare {bare:.0f}):")
    rows(list(MODES), [[f"{per_call(f'MEMPROF_QUIET=1 {settings} LD_PRELOAD={LIBRARY}') - bare:.0f}" for settings in MODES.values()]])


def measure_hook(_):
    """hook prints the least and the median batch of a thread, in ns."""
    limit, threads = os.path.join(BUILD, "bench/limit"), ["1", "4"]
    lines = []
    with tempfile.TemporaryDirectory() as out:
        for name, env in (("memprof", {"LD_PRELOAD": LIBRARY, "MEMPROF_OUT": f"{out}/m.zst", "MEMPROF_QUIET": "1"}),
                          ("ring store with rdtsc", {"LD_PRELOAD": f"{limit}/pre-24-rdtsc.so"}), ("probe", {"LD_PRELOAD": f"{limit}/live.so", "LIVE_OUT": f"{out}/l"})):
            text = [subprocess.run([f"{limit}/hook", n], env={**os.environ, **env}, capture_output=True, text=True, check=True).stdout for n in threads]
            lines.append([name, *(" ".join(t.split()) for t in text)])
    print("\nCost of a hook in the program's thread while the encoder keeps up:")
    rows(["", *(f"threads: {n}" for n in threads)], lines)


def measure_launch(arguments):
    """The bare command and each other one take turns."""
    with tempfile.TemporaryDirectory() as out:
        commands = {"bare": ["/bin/true"], "LD_PRELOAD": ["env", f"LD_PRELOAD={LIBRARY}", f"MEMPROF_OUT={out}/%p.zst", "MEMPROF_QUIET=1", "/bin/true"],
                    "memprof run": [LAUNCHER, "run", "-q", "-o", out, "--", "/bin/true"]}
        times = {name: [] for name in commands}
        for _ in range(20 * arguments.rounds):
            for name, command in commands.items():
                begin = time.monotonic()
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                times[name].append((time.monotonic() - begin) * 1e3)
    print("\nA run of /bin/true, ms:")
    rows(list(times), [[spread(values) for values in times.values()]])


def measure_report(_):
    """Processor time of reports of a log of 5 million events."""
    with tempfile.TemporaryDirectory() as out:
        log = os.path.join(out, "m.zst")
        subprocess.run([os.path.join(BUILD, "bench/report/rate"), "5000000"], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "LD_PRELOAD": LIBRARY, "MEMPROF_OUT": log, "MEMPROF_QUIET": "1"})
        lines = []
        for command in ("peaks", "summary", "leaks"):
            times = []
            for _ in range(5):
                before = os.times()
                subprocess.run([REPORT, command, log], check=True, stdout=subprocess.DEVNULL)
                after = os.times()
                times.append(after.children_user + after.children_system - before.children_user - before.children_system)
            lines.append([f"`{command}`", spread(times), f"{5 / min(times):.1f}"])
    print("\nReports of 5 million events of one thread:")
    rows(["", "processor s", "M events per s, best"], lines)


def measure_gpu(arguments):
    modes = [f"{name.replace('=', '-')}:{settings}" for name, settings in MODES.items()]
    for kind in ("launch", "compute"):
        print(f"\nA training step on the GPU, {kind}-bound:\n")
        done = subprocess.run([sys.executable, os.path.join(HERE, "gpu/pairs.py"), LIBRARY, *(modes if kind == "launch" else modes[:1]),
                               "--kind", kind, "--rounds", str(arguments.gpu), "--others", "2"], check=True, stdout=subprocess.PIPE, text=True)
        print("".join(f"    {line}\n" for line in done.stdout.splitlines()), end="", flush=True)


PARTS = {"time": measure_time, "instructions": measure_instructions, "hook": measure_hook, "launch": measure_launch, "report": measure_report,
         "gpu": measure_gpu}


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        model = re.search(r"model name\s*: (.*)", f.read())
    return f"{model.group(1) if model else platform.machine()}, {len(os.sched_getaffinity(0))} processors, Linux {platform.release()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gpu", type=int, default=9)
    parser.add_argument("parts", nargs="*", metavar="PART")
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"unknown: {', '.join(unknown)}; expected: {', '.join(PARTS)}")
    print(f"{datetime.date.today()}, {machine()}, load {os.getloadavg()[0]:.1f}; median [minimum-maximum] of {arguments.rounds} rounds")
    for part in arguments.parts or [p for p in PARTS if p != "gpu"]:
        PARTS[part](arguments)
        sys.stdout.flush()


main()
