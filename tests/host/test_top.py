"""memprof-report top shows the memory of a running process, and continues reading where the last look stopped."""
import contextlib
import json
import os
import pty
import select
import signal
import subprocess
import time

import mp

MIB = 1 << 20
SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"     # switches to the terminal's alternate screen, and back


class CommandedProgram:
    """A program that executes commands from its standard input."""

    def __init__(self, logs):
        self.process = mp.start([mp.victim("stdin_commands")], logs, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, *lines):
        self.process.stdin.write("".join(line + "\n" for line in lines).encode())
        self.process.stdin.flush()
        mp.equal(self.process.stdout.read(len(lines)), b"." * len(lines), "answers")


@contextlib.contextmanager
def commanded(logs):
    program = CommandedProgram(logs)
    try:
        yield program
    finally:
        program.process.stdin.close()
        program.process.wait(mp.TIMEOUT)
        program.process.stdout.close()


@contextlib.contextmanager
def top(*arguments, **popen):
    process = subprocess.Popen([os.environ["MEMPROF_REPORT"], "top", *arguments], **popen)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def looks(process):
    """Yields the documents that `top` prints, as they arrive."""
    text, decoder = "", json.JSONDecoder()
    while part := os.read(process.stdout.fileno(), 1 << 16):
        text += part.decode()
        while text := text.lstrip():
            try:
                document, end = decoder.raw_decode(text)
            except ValueError:
                break
            text = text[end:]
            yield document


def until(process, wanted):
    """Returns the first look that satisfies the condition."""
    end = time.monotonic() + mp.TIMEOUT
    for look in looks(process):
        if wanted(look):
            return look
        mp.check(time.monotonic() < end, f"never seen; the newest look: {look}")
    raise AssertionError("it ended")


def ranges(look):
    """Returns {range: bytes} of the process that is shown in full."""
    return {" > ".join(owner["path"]): owner["bytes"] for process in look["processes"] for owner in process.get("owners", [])}


def test_top_continues_from_the_last_reading():
    logs = mp.fresh()
    with commanded(logs) as program:
        program.send(f"take weights {40 * MIB}", "step", "step", "step", "step", "open train")
        every = ["--format", "json", "--count", "1000000", "--interval", "100ms", "--by", "range", "--heap", "host/heap", logs]
        with top(*every, stdout=subprocess.PIPE) as process:
            first = until(process, lambda look: [thread["path"] for thread in look["processes"][0]["open"]] == [["train"]])
            mp.equal(ranges(first)["weights"], 40 * MIB, "bytes of the range")
            program.send(f"take cache {70 * MIB}")
            second = until(process, lambda look: ranges(look).get("train > cache") == 70 * MIB)
            mp.equal(ranges(second)["weights"], 40 * MIB, "bytes of the time before top started")
            mp.equal(second["processes"][0]["steps"]["instances"], 4, "steps")
            grew = {tuple(change["path"]): change["after_bytes"] - change["before_bytes"]
                    for change in second["processes"][0]["growth"]["changes"]}
            mp.equal(grew[("train", "cache")], 70 * MIB, "growth")
            mp.check(second["processes"][0]["events"] > first["processes"][0]["events"], "no more events")


def test_top_shows_a_stopped_process():
    logs = mp.fresh()
    with commanded(logs) as program:
        program.send(f"take weights {40 * MIB}")
        report = [os.environ["MEMPROF_REPORT"], "top", "--format", "json", "--heap", "host/heap", logs]
        end, look = time.monotonic() + mp.TIMEOUT, None
        while not look or "weights" not in ranges(look):    # the program's output appears before the log has the event
            mp.check(time.monotonic() < end, f"never seen: {look}")
            look = json.loads(mp.bare(report)[1])
        os.kill(program.process.pid, signal.SIGSTOP)
        try:
            mp.equal(ranges(json.loads(mp.bare(report)[1]))["weights"], 40 * MIB, "bytes of a process that is stopped")
        finally:
            os.kill(program.process.pid, signal.SIGCONT)


def test_top_counts_processes_that_ended_earlier():
    logs = mp.fresh()
    with commanded(logs):
        pass
    with commanded(logs) as program:
        program.send("step")
        look = json.loads(mp.bare([os.environ["MEMPROF_REPORT"], "top", "--format", "json", logs])[1])
        mp.equal(look["ended_before"], 1, "processes that ended before")
        mp.equal([p["process"]["pid"] for p in look["processes"]], [program.process.pid], "processes that run")
    status, out, err = mp.bare([os.environ["MEMPROF_REPORT"], "top", logs])
    mp.equal((status, b"no process is running" in out, err), (0, True, b""), "status, and what is said where nothing runs")


def test_top_notices_started_and_killed_processes():
    logs = mp.fresh()
    with commanded(logs) as program:
        program.send("step")
        with top("--format", "json", "--count", "1000000", "--interval", "100ms", logs, stdout=subprocess.PIPE) as process:
            until(process, lambda look: len(look["processes"]) == 1)
            with commanded(logs) as second:
                second.send("step")
                until(process, lambda look: len(look["processes"]) == 2)
                second.process.kill()
                second.process.wait()
                killed = second.process.pid
                until(process, lambda look: {p["process"]["pid"] for p in look["processes"] if not p["running"]} == {killed})


def test_top_restores_the_terminal_when_it_ends():
    """`top` switches the terminal to its own screen, shows the memory, and restores the terminal after the key q or a
    signal."""
    logs = mp.fresh()
    with commanded(logs) as program:
        program.send(f"take weights {40 * MIB}")
        for ending in ("q", signal.SIGTERM):
            ours, terminal = pty.openpty()
            with top("--interval", "1000s", logs, stdin=terminal, stdout=terminal, stderr=terminal) as process:
                os.close(terminal)
                text = b""
                while b"runs for" not in text:
                    mp.check(select.select([ours], [], [], mp.TIMEOUT)[0], f"nothing more than {text}")
                    text += os.read(ours, 1 << 16)
                if ending == "q":
                    os.write(ours, b"q")
                else:
                    process.send_signal(ending)
                mp.equal(process.wait(mp.TIMEOUT), 0, f"status after {ending}")
                with contextlib.suppress(OSError):
                    while more := os.read(ours, 1 << 16):
                        text += more
            os.close(ours)
            mp.check(text.count(SCREEN[0]) == 1 and text.endswith(SCREEN[1]), f"after {ending}: {text}")


if __name__ == "__main__":
    mp.main()
