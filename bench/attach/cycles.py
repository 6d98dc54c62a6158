#!/usr/bin/env python3
"""Attaches to programs of many kinds and detaches from them, over and over, and checks that none is harmed.

    python3 bench/attach/cycles.py [-s SECONDS] [-t TARGET,...]     # seconds for each target; MEMPROF_BUILD: another build than release

One cycle: memprof attach, some work of the program, memprof detach, some work. In a tenth of the cycles memprof is killed (SIGKILL) at a
random time instead. After each cycle the program must answer, and at the end it must exit as it does without memprof. A program that did
not is `harmed`. `refused` counts attempts that ended with a refusal (no thread at a safe place). Targets whose program is not installed are
left out. Run it as root."""
import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BUILD = os.path.join(TREE, os.environ.get("MEMPROF_BUILD", "build/release"))
MEMPROF = os.path.join(BUILD, "launcher", "memprof")
VICTIMS = os.path.join(BUILD, "tests", "launcher")
TIMEOUT = 60

PYTHON = """
import sys, threading
ends = False
def work():
    kept = []
    while not ends:
        kept.append({i: str(i) for i in range(50)})
        if len(kept) > 1000: kept = []
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads: t.start()
print("done", flush=True)
for line in sys.stdin: print("done", flush=True)
ends = True
for t in threads: t.join()
"""
NODE = """
let kept = [];
setInterval(() => { for (let i = 0; i < 1000; i++) kept.push(Buffer.alloc(100 + i % 5000)); if (kept.length > 20000) kept = []; }, 1);
process.stdin.on("data", () => console.log("done")); process.stdin.on("end", () => process.exit(0)); console.log("done");
"""
PERL = 'use IO::Select; $| = 1; print "done\\n"; my $s = IO::Select->new(\\*STDIN); while (1) { my %h; $h{$_} = "x" x $_ for 1 .. 300;' \
       ' if ($s->can_read(0)) { my $l = <STDIN>; exit 0 unless defined $l; print "done\\n"; } }'
JAVA = """
public class Busy { static volatile boolean ends;
  public static void main(String[] a) throws Exception {
    for (int i = 0; i < 3; i++) { Thread t = new Thread(() -> { java.util.List<java.nio.ByteBuffer> l = new java.util.ArrayList<>();
        while (!ends) { l.add(java.nio.ByteBuffer.allocateDirect(4096)); if (l.size() > 500) l.clear(); } }); t.setDaemon(true); t.start(); }
    System.out.println("done"); while (System.in.read() >= 0) { while (System.in.available() > 0) System.in.read(); System.out.println("done"); }
    ends = true; System.exit(0); } }
"""


class Lines:
    """A program that answers each line with "done"."""

    def __init__(self, *command, begin=()):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1)
        self.pid = self.process.pid
        if not command[0].endswith("attach_target"):
            self.answer()
        for line in begin:
            self.work(line)

    def answer(self):
        line = self.process.stdout.readline()
        if line != "done\n":
            raise RuntimeError(f"answered {line!r}, status {self.process.poll()}")

    def work(self, line="keep 20 3000"):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        self.answer()

    def stop(self):
        self.process.stdin.close()
        status = self.process.wait(TIMEOUT)
        if status:
            raise RuntimeError(f"ended with {status}")

    def kill(self):
        self.process.kill()
        self.process.wait()


class Redis:
    """redis-server under load from four connections."""

    def __init__(self):
        self.folder = tempfile.mkdtemp()
        self.socket = os.path.join(self.folder, "s")
        self.process = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "", "--dir", self.folder],
                                        stdout=subprocess.DEVNULL)
        self.pid, self.ends, self.failed = self.process.pid, False, None
        while not os.path.exists(self.socket):
            time.sleep(0.05)
        self.control = self.connect()
        self.threads = [threading.Thread(target=self.load, args=(i,)) for i in range(4)]
        for thread in self.threads:
            thread.start()

    def connect(self):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(TIMEOUT)
        s.connect(self.socket)
        return s

    @staticmethod
    def ask(s, command, expected):
        s.sendall(command)
        got = s.recv(4096)
        if got != expected:
            raise RuntimeError(f"redis answered {got!r}")

    def load(self, number):
        try:
            s = self.connect()
            n = 0
            while not self.ends:
                n += 1
                self.ask(s, f"SET k{number}.{n % 500} {'v' * (n % 900)}\r\n".encode() if n % 900 else b"PING\r\n", b"+OK\r\n" if n % 900 else b"+PONG\r\n")
        except (OSError, RuntimeError) as e:
            self.failed = self.failed or e

    def work(self):
        self.ask(self.control, b"PING\r\n", b"+PONG\r\n")
        if self.failed:
            raise RuntimeError(self.failed)

    def stop(self):
        self.ends = True
        for thread in self.threads:
            thread.join()
        if self.failed:
            raise RuntimeError(self.failed)
        self.process.terminate()
        if self.process.wait(TIMEOUT):
            raise RuntimeError("redis failed")
        shutil.rmtree(self.folder)

    def kill(self):
        self.ends = True
        self.process.kill()
        self.process.wait()


def target(name):
    """Starts the program of this name."""
    victim = os.path.join(VICTIMS, "attach_target")
    plugin = os.path.join(VICTIMS, "attach_plugin.so")
    if name == "java":
        folder = tempfile.mkdtemp()
        with open(os.path.join(folder, "Busy.java"), "w", encoding="utf-8") as f:
            f.write(JAVA)
        return Lines("java", "-Xmx256m", os.path.join(folder, "Busy.java"))
    return {"c-idle": lambda: Lines(victim),
            "c-threads": lambda: Lines(victim, begin=["threads 8"]),
            "c-dlopen": lambda: Lines(victim, begin=["loader " + plugin, "threads 2"]),
            "c-fork": lambda: Lines(victim, begin=["forker", "threads 2"]),
            "python": lambda: Lines("python3", "-u", "-c", PYTHON),
            "perl": lambda: Lines("perl", "-e", PERL),
            "node": lambda: Lines("node", "-e", NODE),
            "redis": Redis}[name]()


NEEDS = {"python": "python3", "perl": "perl", "node": "node", "redis": "redis-server", "java": "java"}
NAMES = ["c-idle", "c-threads", "c-dlopen", "c-fork", "python", "perl", "node", "redis", "java"]


class Counts:
    def __init__(self):
        self.cycles = self.killed = self.refused = 0
        self.stop, self.total = [], []


def memprof(*arguments):
    return subprocess.run([MEMPROF, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT,
                          check=False)


def attempt(counts, *arguments):
    """Runs a command until it is not refused. Returns whether it succeeded, and its message."""
    for _ in range(10):
        result = memprof(*arguments)
        if result.returncode == 0 or "try again" not in result.stderr:
            return result.returncode == 0, result.stderr
        counts.refused += 1
    return False, result.stderr


def kill_at_random(program, logs, chance):
    tracer = subprocess.Popen([MEMPROF, "attach", "-q", "-o", logs, str(program.pid)], stderr=subprocess.DEVNULL)
    time.sleep(chance.random() * 0.02)
    tracer.kill()
    tracer.wait()
    program.work()
    memprof("detach", str(program.pid))


def cycle(program, logs, counts, chance):
    counts.cycles += 1
    if chance.random() < 0.1:
        counts.killed += 1
        kill_at_random(program, logs, chance)
        return
    begin = time.monotonic()
    attached, text = attempt(counts, "attach", "-o", logs, str(program.pid))
    stopped = re.search(r"at most ([0-9.]+) ms", text)
    if stopped:
        counts.stop.append(float(stopped[1]))
        counts.total.append((time.monotonic() - begin) * 1000)
    program.work()
    detached, text2 = attempt(counts, "detach", str(program.pid))
    if not (attached and detached) and "try again" not in text + text2:
        print(f"  {text.strip()} {text2.strip()}", file=sys.stderr)
    program.work()


def run(name, seconds, chance):
    counts, harm = Counts(), ""
    logs = tempfile.mkdtemp()
    program = target(name)
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            cycle(program, logs, counts, chance)
            for log in os.listdir(logs):
                os.remove(os.path.join(logs, log))
        program.stop()
    except (RuntimeError, OSError, ValueError, subprocess.TimeoutExpired) as e:
        harm = f"HARMED: {e}"
        with contextlib.suppress(OSError):
            program.kill()
    shutil.rmtree(logs, ignore_errors=True)
    stop, total = counts.stop or [0], counts.total or [0]
    print(f"| {name} | {counts.cycles} | {counts.killed} | {counts.refused} | {statistics.median(stop):.2f} | {max(stop):.2f} | "
          f"{statistics.median(total):.0f} | {'1' if harm else '0'} | {harm}", flush=True)
    return bool(harm)


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-s", "--seconds", type=float, default=60)
    parser.add_argument("-t", "--targets", default=",".join(NAMES))
    parser.add_argument("--seed", type=int, default=time.time_ns() & 0xffff)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    print(f"seed {options.seed}\n| target | cycles | killed | refused | stop, median ms | max ms | attach, median ms | harmed |\n|---|---|---|---|---|---|---|---|")
    harmed = 0
    for name in options.targets.split(","):
        if name in NEEDS and not shutil.which(NEEDS[name]):
            continue
        harmed += run(name, options.seconds, chance)
    sys.exit(harmed > 0)


if __name__ == "__main__":
    main()
