#!/usr/bin/env python3
"""Compares long runs under a budget with the program's own counters: soak.py [--events N] [...]

Starts `memprof run --keep SIZE -- soak ...` --processes times in parallel, each with a separate log and budget. Checks every
second memprof's use of space, descriptors, threads, mappings and memory, none of which may grow during the run. Compares the
log with the counters of soak.c, to the byte. Allocations at the start (a few hundred bytes) are measured as the difference in a
short run with a complete log, and must be the same in the long run. The exit status is 0 only if all numbers are right and the
space was within the budget."""
import argparse
import concurrent.futures
import glob
import json
import os
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SHORT = 1000000     # events of the short run
LOSSES = ("lost_events", "torn_events", "unmatched_frees", "missed_frees", "inherited_frees", "damaged_places", "missing_frames")
# Values that must not grow during the run: how samples are summarised, and how much larger the second half may be. The
# program leaks a megabyte in small blocks and some large ones that are mappings. Its peaks are short-lived mappings.
FLAT = (("rss", max, 2 << 20), ("mapped", max, 1 << 20), ("journal", max, 1 << 20), ("maps", min, 24), ("ours", max, 0), ("thinner_own", max, 0))
wrong = []


def check(name, got, expected):
    if got != expected:
        wrong.append(f"{name}: {got}, expected {expected}")


def units(size):
    return f"{size / (1 << 20):.1f} MiB"


# ---- reading the state of processes

def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def children(pid):
    return [int(child) for task in glob.glob(f"/proc/{pid}/task/*/children") for child in read(task).split()]


def named(pid, name):
    """Returns the child of that process with this name, or None."""
    return next((child for child in children(pid) if read(f"/proc/{child}/comm").strip() == name), None)


def status(pid, key):
    line = next((line for line in read(f"/proc/{pid}/status").splitlines() if line.startswith(key + ":")), None)
    return int(line.split()[1]) if line else 0


def links(folder):
    found = []
    for name in os.listdir(folder):
        try:
            found.append(os.readlink(os.path.join(folder, name)))
        except OSError:
            pass
    return found


def descriptors(pid, logs):
    """Returns (descriptors in the program's own table, descriptors of any thread for logs). memprof's threads have
    separate tables."""
    try:
        own = len(os.listdir(f"/proc/{pid}/fd"))
        ours = {(task, link) for task in os.listdir(f"/proc/{pid}/task") for link in links(f"/proc/{pid}/task/{task}/fd")
                if link.startswith(logs)}
    except OSError:
        return 0, 0
    return own, len(ours)


def mappings(pid):
    """Returns (number of mappings, resident bytes of libmemprof.so and the journal)."""
    number, resident, is_own = 0, 0, False
    for line in read(f"/proc/{pid}/smaps").splitlines():
        word, _, rest = line.partition(" ")
        if not word.endswith(":"):
            number += 1
            is_own = "libmemprof" in rest or ".journal" in rest
        elif word == "Rss:" and is_own:
            resident += int(rest.split()[0]) << 10
    return number, resident


def seconds(pid):
    """Returns seconds of processor time."""
    fields = read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0


def room(folder, journal=False):
    total = 0
    for entry in os.scandir(folder):
        if entry.name.endswith(".journal") == journal:
            try:
                total += entry.stat().st_blocks * 512
            except OSError:
                pass
    return total


# ---- one process

class Run:
    """One `memprof run` with soak below it and the process that thins its log."""

    def __init__(self, options, number, events, keep):
        self.options, self.events, self.keep = options, events, keep
        self.where = os.path.join(os.path.abspath(options.out), f"{os.getpid()}.{number}")
        self.logs = os.path.join(self.where, "logs")
        self.truth_path = os.path.join(self.where, "truth.json")
        self.hold_path = os.path.join(self.where, "hold")
        os.makedirs(self.logs)
        self.hold(False)
        self.samples, self.pauses, self.paused = [], 0, 0.0
        self.process = None

    def hold(self, now):
        """Pauses or continues the program's threads."""
        with open(self.hold_path, "r+b" if os.path.exists(self.hold_path) else "wb") as f:
            f.write(bytes([now]))

    def command(self):
        build, options = self.options.build, self.options
        argv = [f"{build}/launcher/memprof", "run", "-q", "-o", self.logs, "--min-rss=0"]
        if self.keep:
            argv += [f"--keep={self.keep}"]
        argv += ["--", f"{build}/bench/host/soak", f"--events={self.events}", f"--threads={options.threads}", f"--truth={self.truth_path}",
                 f"--hold={self.hold_path}"]
        if self.keep and options.rate:
            argv += [f"--rate={int(options.rate / options.processes)}"]
        return argv

    def run(self):
        began = time.monotonic()
        environment = {**os.environ, "MEMPROF_LIB": f"{self.options.build}/preload/libmemprof.so",
                       "MEMPROF_REPORT": f"{self.options.build}/postproc/memprof-report"}
        self.process = subprocess.Popen(self.command(), env=environment)
        while self.process.poll() is None:
            self.look(time.monotonic() - began)
            try:
                self.process.wait(1)
            except subprocess.TimeoutExpired:
                pass
        self.elapsed = time.monotonic() - began
        check("status of memprof run", self.process.returncode, 0)

    def look(self, at):
        soak, thinner = named(self.process.pid, "soak"), named(self.process.pid, "memprof-report")
        own, ours = descriptors(soak, self.logs) if soak else (0, 0)
        number, mapped = mappings(soak) if soak else (0, 0)
        self.samples.append({"at": at, "runs": bool(soak) and not os.path.exists(self.truth_path), "room": room(self.logs),
                             "journal": room(self.logs, journal=True), "rss": status(soak, "VmRSS") << 10 if soak else 0,
                             "threads": status(soak, "Threads") if soak else 0, "own": own, "ours": ours,
                             "maps": number, "mapped": mapped, "thinner_own": descriptors(thinner, self.logs)[0] if thinner else 0,
                             "thinner_rss": status(thinner, "VmRSS") << 10 if thinner else 0,
                             "thinner_seconds": seconds(thinner) if thinner else 0})
        if soak and self.keep and self.options.pause:
            self.pause()

    def pause(self):
        """If the machine has too little time to thin the log, the program waits."""
        limit, began = budget(self.keep) * self.options.pause, time.monotonic()
        if room(self.logs) <= limit:
            return
        self.hold(True)
        while room(self.logs) > limit and named(self.process.pid, "memprof-report"):
            time.sleep(0.5)
        self.hold(False)
        self.pauses += 1
        self.paused += time.monotonic() - began

    # ---- reports

    def report(self, *arguments):
        log, = glob.glob(os.path.join(self.logs, "*.zst"))
        done = subprocess.run([f"{self.options.build}/postproc/memprof-report", *arguments, "--format", "json", log],
                              stdout=subprocess.PIPE, check=False)
        check(f"status of {arguments[0]}", done.returncode, 0)
        return json.loads(done.stdout)

    def surplus(self):
        """Compares the log with the program's counters, and returns the bytes that the log has in addition, which were
        allocated at the start."""
        with open(self.truth_path, encoding="utf-8") as f:
            self.truth = json.load(f)
        self.log, = self.report("peaks", "--by", "range")["logs"]
        heap, = [heap for heap in self.log["heaps"] if heap["heap"] == "host/heap"]
        for key in LOSSES:
            check(key, self.log[key], 0)
        check("complete", (self.log["complete"], self.log["end"]), (True, "exit"))
        for state, suffix in (("peak", "bytes_at_peak"), ("end", "end_bytes")):
            self.compare(state, self.rows(heap, suffix))
        self.compare_leaks()
        return {"allocations": heap["allocations"] - self.truth["allocations"], "frees": heap["frees"] - self.truth["frees"],
                "peak bytes": heap["peak_bytes"] - self.truth["peak"]["all"][0], "peak blocks": heap["blocks_at_peak"] - self.truth["peak"]["all"][1],
                "end bytes": heap["end_bytes"] - self.truth["end"]["all"][0], "end blocks": heap["end_blocks"] - self.truth["end"]["all"][1]}

    @staticmethod
    def rows(heap, key):
        """Returns the bytes by outermost range."""
        found = {}
        for row in heap["ranges"]:
            name = row["path"][0] if row["path"] else ""
            found[name] = found.get(name, 0) + row[key]
        return found

    def compare(self, state, rows):
        for name, (size, _) in self.truth[state].items():
            if name != "all":
                check(f"{state}: {name}", rows.get(name, 0), size)

    def compare_leaks(self):
        for by, names in (("range", {name: name for name in self.truth["end"]}),
                          ("stack", {"soak_leak_often": "leak often", "soak_leak_seldom": "leak seldom"})):
            heap, = [heap for heap in self.report("leaks", "--by", by)["heaps"] if heap["heap"] == "host/heap"]
            for word, name in names.items():
                rows = [row for row in heap["live"] if any(word in part for part in row["path"])]
                if name not in ("all", "peak"):
                    check(f"leaks by {by}: {word}", [sum(r["bytes"] for r in rows), sum(r["blocks"] for r in rows)], self.truth["end"][name])

    # ---- resources

    def max_of(self, key, running=True):
        return max((sample[key] for sample in self.samples if not running or sample["runs"]), default=0)

    def print_summary(self):
        live = [sample for sample in self.samples if sample["runs"]]
        events, took = self.truth["allocations"] + self.truth["frees"], self.truth["seconds"]
        print(f"{self.where}: {events} events in {took:.1f} s ({events / took / 1e6:.2f} million a second); the log was complete after {self.elapsed:.1f} s")
        print(f"  thinned: {self.log['fold']}, up to {(self.log['folded_until_ns'] or 0) / 1e9:.1f} s, {self.log['folded_events']} events removed, "
              f"grain {self.log['folded_grain_ns']} ns; the log has {self.log['events']}, {units(room(self.logs))}")
        print(f"  space during the run: at most {units(self.max_of('room'))} of {self.keep}, with a journal of at most {units(self.max_of('journal'))}; "
              f"while the log was merged {units(self.max_of('room', False))}")
        print(f"  paused for the thinning process: {self.pauses} times, {self.paused:.1f} s; its processor time: {self.max_of('thinner_seconds', False):.1f} s, "
              f"its memory: at most {units(self.max_of('thinner_rss', False))}")
        for n in range(10):
            part = live[len(live) * n // 10:len(live) * (n + 1) // 10]
            if part:
                print(f"  {part[0]['at']:7.1f} s: space {units(max(s['room'] for s in part))}, resident {units(max(s['rss'] for s in part))}, "
                      f"threads {max(s['threads'] for s in part)}, descriptors {max(s['own'] for s in part)}, of memprof's threads {max(s['ours'] for s in part)}, "
                      f"of the thinning process {max(s['thinner_own'] for s in part)}, mappings {min(s['maps'] for s in part)}, resident of memprof's "
                      f"{units(max(s['mapped'] for s in part))}, journal {units(max(s['journal'] for s in part))}")

    def within(self):
        if self.max_of("room") > budget(self.keep):
            wrong.append(f"space: {units(self.max_of('room'))}, more than {self.keep}")
        check("thinned", self.log["fold"], "folded")
        live = [sample for sample in self.samples if sample["runs"]]
        late = live[len(live) // 10:]
        check("number of threads, after the first tenth", {sample["threads"] for sample in late} <= set(range(self.options.threads + 2, self.options.threads + 4)), True)
        check("constant number of the program's descriptors, after the first tenth", len({sample["own"] for sample in late}) <= 1, True)
        half = len(late) // 2
        for key, summarise, more in FLAT:
            before, after = (summarise(sample[key] for sample in part) for part in (late[:half], late[half:]))
            if after > before + more:
                wrong.append(f"{key}: {after} in the second half of the run, {before} in the first")


def budget(keep):
    return int(keep[:-1]) * UNITS[keep[-1]] if keep[-1] in UNITS else int(keep)


def number(text):
    return int(float(text))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/release", help="a build folder with the target bench_soak (default: build/release)")
    parser.add_argument("--out", default=os.environ.get("BENCH_OUT", "/tmp/soak"), help="folder of the logs")
    parser.add_argument("--events", type=number, default=number("1e10"), help="total number (default: 1e10)")
    parser.add_argument("--processes", type=int, default=1, help="number of processes that share the events, each with its own log (default: 1)")
    parser.add_argument("--threads", type=int, default=4, help="per process (default: 4)")
    parser.add_argument("--rate", type=number, default=0, help="total events per second (default: as many as possible)")
    parser.add_argument("--keep", default="1G", help="each log's budget (default: 1G)")
    parser.add_argument("--pause", type=float, default=0, metavar="PART",
                        help="pause a program while its log uses more than this part of its budget, for a machine that cannot thin fast enough")
    parser.add_argument("--remove", action="store_true", help="remove the logs if everything is right")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    short = Run(options, "short", SHORT, None)
    short.run()
    start = short.surplus()
    print(f"allocated at the start, measured in a short run: {start}", flush=True)
    runs = [Run(options, n, options.events // options.processes, options.keep) for n in range(options.processes)]
    jobs = [threading.Thread(target=run.run) for run in runs]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as readers:
        surpluses = list(readers.map(Run.surplus, runs))
    for run, surplus in zip(runs, surpluses):
        check("allocated at the start", surplus, start)
        run.print_summary()
        run.within()
    events = sum(run.truth["allocations"] + run.truth["frees"] for run in runs)
    print(f"{events} events, {len(runs)} processes, {max(run.elapsed for run in runs):.1f} s: {'wrong' if wrong else 'all numbers agree'}")
    for line in wrong:
        print(f"WRONG: {line}")
    if options.remove and not wrong:
        for run in [short, *runs]:
            subprocess.run(["rm", "-r", run.where], check=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
