"""The logs of a random mix of situations that can break a recorder agree with counters that memprof does not write.

A number, the seed, defines a run. Its last digit is the kind (KINDS). A random generator with that seed chooses the rest.
mixed.c runs it and keeps its counters (truth.h) in a mapped file. After the end of the run, by itself or by SIGKILL, each
lane's allocations and live bytes must be in the logs, exactly. If the situation makes losses possible, the log must report
the missing events.

Each test runs a few seeds, or seeds one after the other for MEMPROF_TORTURE_SECONDS. run.sh runs all kinds in turn."""
import collections
import contextlib
import mmap
import os
import random
import re
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time

import mp
import test_failures as failing

KINDS = ("ends", "killed", "encoder", "folded", "disk", "limits", "refused", "namespaces", "many", "clock")
SEEDS = 2           # seeds of each test
BARE = 20           # runs without memprof, if one with memprof failed
NO_JOURNAL = "no journal could be created"     # the last 100 ms before a kill are lost
NO_ROOM = "the journal cannot grow"         # some events are lost
NO_NUMBER = "a seccomp filter refuses getpid"
HEAD, LANE = struct.Struct("=QQ"), struct.Struct("=QQ6Q4Q")
TIE, TIE_AT = struct.Struct("=QQ"), 232     # the part of a journal that identifies its log (FORMAT.md)
LANES = 8192
MIB = 1 << 20
WAYS, NOBODY = 12, 65534
# Calls that the program itself needs, or that the kernel never refuses.
NEEDED = {"futex", "rseq", "munmap", "write"}
# jemalloc 5.3.0 crashes without memprof if there is no memory for another arena (tcache_arena_associate of NULL).
ONE_ARENA = {"MALLOC_CONF": "narenas:1"}
LIMITS = ("nofile", "fsize", "as", "data", "stack", "nproc")


class Truth:
    """The file that the program keeps its counters in."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "truth")
        with open(self.path, "w+b") as f:
            f.truncate(HEAD.size + LANES * LANE.size)
            self.map = mmap.mmap(f.fileno(), 0)
        os.chmod(self.path, 0o666)

    def stop(self):
        self.map[8] = 1

    def lanes(self):
        """Returns {number: Lane}."""
        used = min(HEAD.unpack_from(self.map)[0], LANES)
        lanes = {n: Lane(*LANE.unpack_from(self.map, HEAD.size + n * LANE.size)) for n in range(used)}
        return {n: lane for n, lane in lanes.items() if lane.pid}

    def allocations(self):
        return sum(lane.hold[0] for lane in self.lanes().values())


class Lane:
    """hold: (allocations, bytes of blocks, bytes of mappings) of the valid state; may: all states that may be valid."""

    def __init__(self, pid, word, *rest):
        states = [rest[0:3], rest[3:6]]
        self.pid, self.hold = pid, states[word & 1]
        self.may = [self.hold] + ([states[1 - (word & 1)]] if word & 2 else [])
        self.frees, self.inherited, self.orderly, self.image = rest[6:10]


class Run:
    """The run of one seed."""

    def __init__(self, seed):
        self.seed, self.dice = seed, random.Random(seed)
        self.kind = KINDS[seed % len(KINDS)]
        self.folder = mp.fresh("seed")
        self.place = os.path.join(self.folder, "logs")
        os.mkdir(self.place)
        self.truth = Truth(self.folder)
        self.allocator = list(mp.ALLOCATORS)[(seed + seed // len(KINDS)) % len(mp.ALLOCATORS)] if seed % 3 else "glibc"
        self.options, self.around, self.preexec, self.env = {}, [], None, {}
        self.argv = self.process = self.status = self.out = self.err = None
        self.killed = False

    def mix(self, **options):
        """Draws options for all situations. Those in `options` are not drawn."""
        dice = self.dice
        can_fork = self.allocator in ("glibc", "jemalloc")     # while threads run; other allocators do not support it
        drawn = {"threads": dice.choice((1, 2, 4, 8)), "burst": dice.choice((50, 400, 3000)), "forks": dice.choice((4, 8)), "ways": WAYS,
                 "beside": int(can_fork), "handlers": int(dice.random() < 0.7), "all_calls": int(self.allocator == "glibc"),
                 "library": mp.victim("libplugin.so") if dice.random() < 0.7 else ""}
        self.options = {**drawn, **options}

    def start(self, quiet="1"):
        words = [f"{key}={value}" for key, value in self.options.items() if value != ""]
        self.argv = [*self.around, mp.victim("mixed"), self.truth.path, str(self.seed), *words]
        self.process = mp.start(self.argv, self.place, mp.allocator(self.allocator), start_new_session=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=self.preexec, env={**self.env, "MEMPROF_QUIET": quiet})

    def finish(self):
        """Waits until the program ends by itself."""
        self.status, self.out, self.err, _ = mp.finish(self.process, self.argv, self.place, status=None)

    def kill(self):
        self.killed = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def until(self, allocations):
        """Waits for this number of allocations. Returns False if the program ended before."""
        mp.wait_for(lambda: self.truth.allocations() >= allocations or self.process.poll() is not None)
        return self.process.poll() is None

    # ---- afterwards

    def logs(self):
        """Returns the logs of all processes of the run, once all have ended."""
        logs = []
        mp.wait_for(lambda: not any(log.json["running"] for log in self.look(logs)))
        return logs

    def look(self, logs):
        """Skips logs that are empty because their process was killed or the disk was full just after their creation."""
        logs[:] = [mp.Log(path) for path in mp.Logs(self.place).paths() if os.path.getsize(path)]
        return logs

    def unharmed(self):
        """Checks that the program ended as planned and that its blocks were intact, or that it also fails without
        memprof."""
        aborts = self.options.get("end") == "abort"
        due = (-signal.SIGABRT if aborts else 0, b"done\n")
        if (self.status, self.out) != due and any(self.bare()[:2] != due for _ in range(BARE)):
            raise mp.Skip(f"{self.options}: not without memprof either")
        mp.equal((self.status, self.out), due, f"status and output; it said {self.err}")

    def bare(self):
        """Runs the program without memprof and returns its status and output."""
        argv = [*self.around, mp.victim("mixed"), os.path.join(self.folder, "bare"), str(self.seed), *self.argv[len(self.around) + 3:]]
        return mp.bare(argv, env={**self.env, "LD_PRELOAD": " ".join(mp.allocator(self.allocator))}, preexec_fn=self.preexec)

    @contextlib.contextmanager
    def tidy(self):
        """However the run ends, no process of it remains, and no file outside its folder."""
        try:
            yield
        finally:
            if self.process and self.process.poll() is None:
                self.kill()
            self.gather_journals()

    def gather_journals(self):
        """Removes journals of killed processes that are in another folder because their disk was full."""
        for log in mp.Logs(self.place).paths():
            for folder in ("/dev/shm", "/tmp"):
                journal = os.path.join(folder, f"{os.path.basename(log)}.journal")
                if is_of(journal, log):
                    with contextlib.suppress(OSError):
                        shutil.copyfile(journal, f"{log}.journal")
                        adopt(f"{log}.journal")
                    os.unlink(journal)

    def exact(self, live_only=()):
        """Checks that the logs have all counted allocations. live_only: paths of logs in which old allocations may be
        thinned."""
        logs, wrong, leaving = self.logs(), [], []
        rows = Rows(logs)
        for number, lane in self.truth.lanes().items():
            got, log = rows.lane(number)
            may = lane.may
            if log and log.path in live_only:
                got, may = got[1:], [state[1:] for state in may]
            if got not in may:
                wrong.append(f"lane {number} of {lane.pid} has {got} in {log and log.path}, the truth is {may}")
            if lane.orderly and log and not log.json["complete"]:
                leaving.append(log.path)
        if len(leaving) > int(self.killed):     # one may have been about to end when all were killed
            wrong.append(f"{leaving} are not complete")
        mp.check(not wrong, "\n".join(wrong))
        for log in logs:
            mp.nothing_missing(log, max_torn=rows.threads(log) if self.killed else 0)
        rows.inherited(self.truth.lanes())

    def honest(self):
        """Checks each process. If it has a log, missing events are reported as lost, and the log has nothing that did not
                happen. A log without losses is exact. If it has no log, a message has the reason."""
        logs, wrong, images = self.logs(), [], {}
        rows = Rows(logs)
        for number, lane in self.truth.lanes().items():
            images.setdefault(lane.image, {})[number] = lane
            if rows.lane(number)[0][0] > max(state[0] for state in lane.may):
                wrong.append(f"lane {number} of {lane.pid} has {rows.lane(number)[0]}, more than {lane.hold}")
        for lanes in images.values():
            if self.hides_numbers():
                lanes = {n: lane for n, lane in lanes.items() if rows.log_of_lane(n)} or lanes
            of_image = {log for log in map(rows.log_of_lane, lanes) if log}
            if not of_image and not self.is_told(logs, lanes):
                wrong.append(f"lanes {sorted(lanes)} of {next(iter(lanes.values())).pid} are in no log, and nothing says why: {self.err}")
            if of_image and (not self.lacks_journal() or all(log.json["complete"] for log in of_image)):
                wrong += self.missing(rows, lanes, sum(map(lost, of_image)))
        mp.check(not wrong, "\n".join(wrong))

    def missing(self, rows, lanes, events):
        """Returns the differences of the lanes of one process whose log reports this number of lost events."""
        if not events:
            return [f"lane {n} of {lane.pid} has {rows.lane(n)[0]} and the truth is {lane.may}, but nothing is said to be lost"
                    for n, lane in lanes.items() if rows.lane(n)[0] not in lane.may]
        missing = sum(lane.hold[0] - rows.lane(n)[0][0] for n, lane in lanes.items())
        each = {n: f"{rows.lane(n)[0][0]} of {lane.hold[0]}" for n, lane in lanes.items()}
        return [f"{missing} allocations are missing, {events} are said to be lost; of each lane there are {each}"] if missing > events else []

    def refuses(self, *calls):
        return not set(calls).isdisjoint(self.options.get("calls", "").split(","))

    def is_mute(self):
        """The program cannot check where its messages would go."""
        return self.refuses("poll", "fstat", "newfstatat")

    def hides_numbers(self):
        """Children printed that they are not recorded. The counters do not show which lanes are theirs either."""
        return self.refuses("getpid") and self.printed(NO_NUMBER)

    def lacks_journal(self):
        return self.printed(NO_JOURNAL) or self.printed(NO_ROOM) or self.is_mute()

    def printed(self, text):
        return text in self.err.decode(errors="replace")

    def is_told(self, logs, lanes):
        """Checks the lanes of a process that has no log."""
        allocations, pid = sum(lane.hold[0] for lane in lanes.values()), next(iter(lanes.values())).pid
        if any(log.process["pid"] == pid and lost(log) + nameless(log) >= allocations for log in logs) or not allocations:
            return True
        if self.is_mute():      # the loader may be unable to open memprof
            return True
        if self.hides_numbers():
            return True
        own = rf"cannot (write|create the log) {re.escape(self.place)}/{pid}(\.\d+)?\.zst[;:]|cannot create the log of process {pid}:"
        no_end = rf"without a journal what was not in it is lost: \S*/{pid}(\.\d+)?\.zst"
        return re.search(rf"{own}|{no_end}", self.err.decode(errors="replace")) or (
            self.printed(NO_JOURNAL) and not any(lane.orderly for lane in lanes.values()))


def nameless(log):
    """Returns the allocations in ranges whose names were lost because memory was refused. Their lanes are unknown."""
    return sum(row["allocations"] for path, row in log.ranges("host/heap").items() if path.endswith("(names beyond the limit)"))


def is_of(journal, log):
    """Returns the process that the journal's head names."""
    with contextlib.suppress(OSError, struct.error):
        with open(journal, "rb") as f:
            f.seek(TIE_AT)
            tie = TIE.unpack(f.read(TIE.size))
        return tie == (os.stat(log).st_dev, os.stat(log).st_ino)
    return False


def adopt(journal):
    """Changes the head of the copied journal to name the copied log. The process has ended, and the copy is
    complete."""
    st = os.stat(journal)
    with open(journal, "r+b") as f:
        f.seek(TIE_AT - TIE.size)
        f.write(TIE.pack(st.st_dev, st.st_ino))


def lost(log):
    return log.json["lost_events"] + log.json["torn_events"]


class Rows:
    """The bytes and allocations of each lane in the logs, whichever other ranges were open."""

    def __init__(self, logs):
        self.rows, self.log_of = {}, {}
        for log in logs:
            for heap in ("host/heap", "host/mmap"):
                mp.equal(log.heap(heap).get("omitted_ranges", 0), 0, f"{log.path}: rows left out")
                for path, row in log.ranges(heap).items():
                    self.add(log, heap, path.split(" > ")[-1], row)

    def add(self, log, heap, name, row):
        allocations, live = self.rows.get((heap, name), (0, 0))
        self.rows[heap, name] = (allocations + row["allocations"], live + row["end_bytes"])
        if row["allocations"]:
            self.log_of[name] = log

    def log_of_lane(self, number):
        return self.log_of.get(f"lane {number}")

    def lane(self, number):
        """Returns ((allocations, bytes of blocks, bytes of mappings), the log or None)."""
        heap, maps = self.rows.get(("host/heap", f"lane {number}"), (0, 0)), self.rows.get(("host/mmap", f"maps {number}"), (0, 0))
        return (*heap, maps[1]), self.log_of_lane(number)

    def threads(self, log):
        """Returns the number of lanes that the counters have for the log's process."""
        return sum(found is log and name.startswith("lane ") for name, found in self.log_of.items())

    def inherited(self, lanes):
        """Checks that frees of blocks inherited from the parent are counted as such."""
        inherited = {}
        for number, lane in lanes.items():
            log = self.lane(number)[1]
            if log:
                inherited[log] = inherited.get(log, 0) + lane.inherited
        for log, frees in inherited.items():
            mp.check(log.json["inherited_frees"] >= frees, f"{log.path}: {log.json['inherited_frees']} inherited frees, at least {frees} were made")


# ---- the kinds

def ends(run):
    """The program ends by itself in one of several ways."""
    run.mix(phases=run.dice.choice((3, 10, 25)), end=run.dice.choice(("return", "exit", "_exit", "thread", "abort", "exec")))
    run.start()
    run.finish()
    run.unharmed()
    run.exact()


def killed(run):
    """The whole process group is killed at any instant."""
    run.mix()
    run.start()
    if run.until(int(10 ** run.dice.uniform(0, 5.5))):
        time.sleep(run.dice.random() * 0.05)
    run.kill()
    run.exact()


def state_of(pid, name):
    """Returns the states of the threads of that name. R means that a thread is running."""
    states = set()
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/stat", encoding="ascii") as f:
                head, _, tail = f.read().rpartition(")")
            if head.endswith("(" + name):
                states.add(tail.split()[0])
    return states


def encoder(run):
    """The program is killed while an encoder writes a frame."""
    run.mix(threads=8, burst=20000, forks=0)
    run.start()
    run.until(int(10 ** run.dice.uniform(4, 6)))
    mp.wait_for(lambda: "R" in state_of(run.process.pid, "memprof") or run.process.poll() is not None)
    run.kill()
    run.exact()


def folded(run):
    """The program, the process that thins its log, or both are killed while the log is thinned."""
    run.mix(burst=3000, threads=4, forks=2)
    run.start()
    path = os.path.join(run.place, f"{run.process.pid}.zst")
    for _ in range(run.dice.choice((1, 3))):
        run.until(run.truth.allocations() + 50000)
        folder = subprocess.Popen([os.environ["MEMPROF_REPORT"], "log", "compact", "--keep", "64K", path], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            folder.wait(run.dice.random() * 0.3)
        last = run.dice.random() < 0.5
        if last:
            run.kill()
        folder.kill()
        folder.wait()
        if last:
            break
    run.kill()
    run.exact(live_only=[path])
    subprocess.run([os.environ["MEMPROF_REPORT"], "log", "recover", run.place], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    run.exact(live_only=[path])


def disk(run):
    """The disk of the logs becomes full, and gets free space again."""
    with failing.small_disk("8m") as place, run.tidy():
        run.place = place
        run.mix(forks=4, burst=3000)
        run.start(quiet="0")
        filler = os.path.join(place, "filler")
        run.until(20000)
        with open(filler, "wb", buffering=0) as f, contextlib.suppress(OSError):
            while f.write(bytes(4096)):
                pass
        run.until(run.truth.allocations() + run.dice.choice((1000, 100000, 1000000)))
        os.unlink(filler)
        freed = run.truth.allocations()
        run.until(freed + 200000)
        run.truth.stop()
        run.finish()
        run.unharmed()
        run.honest()


def limits(run):
    """The program has a memory limit, which it sets while it runs or has from the start."""
    run.allocator, run.env = run.dice.choice(("glibc", "jemalloc")), ONE_ARENA
    which = LIMITS[run.seed // len(KINDS) % len(LIMITS)]
    number, value = getattr(resource, f"RLIMIT_{which.upper()}"), {
        "nofile": run.dice.randrange(3, 12), "fsize": run.dice.choice((0, 4096, 100000, MIB)), "as": run.dice.randrange(30 * MIB, 2000 * MIB),
        "data": run.dice.randrange(4 * MIB, 400 * MIB), "stack": run.dice.choice((64 << 10, 256 << 10)), "nproc": run.dice.randrange(1, 8)}[which]
    run.mix(phases=12, at=run.dice.randrange(1, 5), limit=number, limit_to=value)
    if which == "nproc" and os.geteuid() == 0:
        run.preexec = as_nobody(run)
    run.start(quiet="0")
    run.finish()
    run.unharmed()
    run.honest()


def as_nobody(run):
    """For preexec_fn: limits on the number of processes do not apply to root."""
    for path in (mp.folder or run.folder, run.folder, run.place):
        os.chmod(path, stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO)
    probe = subprocess.run([mp.victim("mixed")], preexec_fn=lambda: os.setuid(NOBODY), stderr=subprocess.DEVNULL, check=False)
    if probe.returncode != 2:
        raise mp.Skip("another user cannot run what was built here")
    return lambda: os.setuid(NOBODY)


def refused(run):
    """A seccomp filter of the program refuses system calls."""
    run.allocator, run.env = run.dice.choice(("glibc", "jemalloc")), ONE_ARENA
    known = mp.bare([os.path.join(os.path.dirname(os.environ["MEMPROF_NAIVE_READER"]), "refused_calls"), "list"])[1].decode().split()
    calls = run.dice.sample(sorted(set(known) - NEEDED), run.dice.randrange(1, 7))
    run.mix(phases=12, at=run.dice.randrange(0, 5), calls=",".join(calls), refuse=run.dice.choice((1, 13, 38)))
    run.start(quiet="0")
    run.finish()
    run.unharmed()
    run.honest()


def possible(around):
    """Returns these words before a command if the machine allows them, else skips the run."""
    if subprocess.run([*around, "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
        raise mp.Skip(f"{' '.join(around)} is not possible here")
    return around


def namespaces(run):
    """The program has its own namespaces of processes, mounts and users, and is killed or not."""
    user = ["--user", "--map-root-user"] if os.geteuid() or run.dice.random() < 0.5 else []
    run.around = possible(["unshare", *user, "--mount", "--pid", "--fork", "--kill-child"])
    run.mix(phases=run.dice.choice((0, 10)))
    run.start()
    if run.options["phases"]:
        run.finish()
        run.unharmed()
    else:
        run.until(30000)
        run.kill()
    run.exact()


def many(run):
    """A thousand threads run at once, and start and end."""
    run.mix(phases=10, many=run.dice.choice((200, 500, 1000)), burst=60, forks=4)
    run.start()
    run.finish()
    run.unharmed()
    run.exact()


def clock(run):
    """The clock jumps. In every second run the program is stopped for longer than any time limit in memprof."""
    (stopped if run.seed // len(KINDS) % 2 else elsewhere)(run)


def stopped(run):
    run.mix(threads=8, burst=20000, forks=2)
    run.start()
    run.until(int(10 ** run.dice.uniform(5, 6)))
    os.killpg(run.process.pid, signal.SIGSTOP)
    time.sleep(1.5)
    os.killpg(run.process.pid, signal.SIGCONT)
    run.until(run.truth.allocations() + 100000)
    run.truth.stop()
    run.finish()
    run.unharmed()
    run.exact()


def elsewhere(run):
    """The program is in a time namespace, and children are in others."""
    user = ["--user", "--map-root-user"] if os.geteuid() else []
    jump = [f"--{name}={run.dice.choice((-60, 1000, 10 ** 7))}" for name in ("monotonic", "boottime")]
    run.around = possible(["unshare", *user, "--time", *jump, "--fork", "--kill-child"])
    run.mix(phases=10)
    run.start()
    run.finish()
    run.unharmed()
    run.exact()


# ---- choosing seeds

def torture(seed):
    """Runs one seed. run.sh 0 SEED repeats it, as exactly as threads allow."""
    run = Run(seed)
    try:
        with run.tidy():
            globals()[run.kind](run)
    except mp.Skip:
        raise
    except BaseException:
        print(f"seed {seed} ({run.kind}, {run.allocator}): again by tests/torture/run.sh 0 {seed}; {run.folder}: {run.options}", file=sys.stderr)
        raise
    shutil.rmtree(run.folder)


def seeds_of(kind, count):
    """Runs SEEDS seeds, or as many as the time allows. The first ones are always the same."""
    end = time.monotonic() + int(os.environ.get("MEMPROF_TORTURE_SECONDS", "0"))
    seed = KINDS.index(kind)
    while count > 0 or time.monotonic() < end:
        torture(seed)
        seed += len(KINDS)
        count -= 1


def test_every_way_to_exit_loses_no_event():
    seeds_of("ends", 3 * SEEDS)


def test_killed_at_random_instants_loses_no_event():
    seeds_of("killed", 3 * SEEDS)


def test_killed_during_encoding_loses_no_event():
    seeds_of("encoder", SEEDS)


def test_killed_during_compaction_loses_no_event():
    seeds_of("folded", SEEDS)


def test_temporarily_full_disk_counts_lost_events():
    seeds_of("disk", SEEDS)


def test_resource_limits_count_lost_events():
    seeds_of("limits", len(LIMITS))


def test_refused_system_calls_count_lost_events():
    seeds_of("refused", 2 * SEEDS)


def test_child_without_memory_keeps_the_journal_of_its_parent():
    """mmap is refused before the parent has written a frame, so all of its events are in its journal."""
    torture(466)


def test_namespaces_lose_no_event():
    seeds_of("namespaces", SEEDS)


def test_1000_threads_at_once_lose_no_event():
    seeds_of("many", SEEDS)


def test_clock_jumps_lose_no_event():
    seeds_of("clock", SEEDS)


def slow_killed_200_times_loses_no_event():
    seeds_of("killed", 200)


def slow_killed_200_times_during_encoding_loses_no_event():
    seeds_of("encoder", 200)


def slow_killed_200_times_during_compaction_loses_no_event():
    seeds_of("folded", 200)


def mix(seconds, seed):
    """Runs all kinds in turn, also after failures, and returns the exit status."""
    end, mp.folder = time.monotonic() + seconds, tempfile.mkdtemp(prefix="memprof-torture.")
    ran = {word: collections.Counter() for word in ("passed", "failed", "skipped")}
    first = seed
    while seed == first or time.monotonic() < end:
        kind = KINDS[seed % len(KINDS)]
        try:
            torture(seed)
            ran["passed"][kind] += 1
        except mp.Skip as reason:
            print(f"seed {seed} ({kind}): skipped: {reason}")
            ran["skipped"][kind] += 1
        except Exception as error:
            print(f"seed {seed} ({kind}): FAILED: {error!r}", flush=True)
            ran["failed"][kind] += 1
        seed += 1
    for word, kinds in ran.items():
        print(f"{sum(kinds.values())} {word}: {', '.join(f'{kind} {n}' for kind, n in kinds.items())}")
    if not ran["failed"]:
        shutil.rmtree(mp.folder)
    return bool(ran["failed"])


if __name__ == "__main__":
    if sys.argv[1:2] == ["mix"]:
        sys.exit(mix(float(sys.argv[2]), int(sys.argv[3])))
    mp.main()
