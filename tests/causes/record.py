#!/usr/bin/env python3
"""Records the programs of this folder.

record.py BUILD OUT [PROGRAM...]: runs each program of programs/ under the library of BUILD (a build with tests), and writes the log
OUT/NAME.zst, for a shell script the folder OUT/NAME of all its processes' logs, and OUT/NAME.json: the last line that the program
printed, which has its own byte counts. Prints one line per program. A program of ranks/ is recorded with `memprof run`, and leaves
the folder OUT/NAME of its processes' logs. Programs run in a copy of their folder, with a copy of the library, and those of the
host with the system's programs, so that logs do not name folders of the machine that recorded them.

A program in C, a script, or one with the comment "host: yes" needs no GPU: its log is kept whole, with the names of its native
calls. The host's blocks of the others are not recorded. A comment "record: NAME=VALUE ..." sets variables.

A program of pairs/ (PROGRAM is pairs/NAME.py) runs twice, with the argument "before" and with "after", and leaves the logs
OUT/NAME.before.zst and OUT/NAME.after.zst; files NAME.logs are skipped. If it printed its peak, NAME.json has the peaks of both runs."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
COPY = "/tmp/causes"
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
TIMEOUT = 120


class Recorder:
    def __init__(self, build, out):
        self.build, self.out = os.path.abspath(build), out

    def tool(self, *path):
        return os.path.join(self.build, *path)

    @staticmethod
    def command(program):
        if program.endswith(".c"):
            binary = "./" + program[:-2]
            subprocess.run(["gcc", "-g", "-O1", "-pthread", "-o", binary, program], check=True)
            return [binary]
        return ["sh" if program.endswith(".sh") else "python3", program]

    def record_job(self, program):
        """Records a program that starts the ranks of a job, or several processes of one GPU."""
        name = os.path.splitext(os.path.basename(program))[0]
        kept = os.path.join(self.out, name)
        shutil.rmtree(kept, ignore_errors=True)
        os.mkdir(kept)
        with tempfile.TemporaryDirectory() as folder:
            logs = os.path.join(folder, "logs")
            command = [self.tool("launcher/memprof"), "run", "-q", "-o", logs, "--host=off", "--program=python*", "--", "python3", program]
            done = subprocess.run(command, env={**os.environ, "MEMPROF_LIB": f"{COPY}/libmemprof.so"}, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, timeout=TIMEOUT, check=False)
            for log in sorted(os.listdir(logs)):
                if log.endswith(".zst"):
                    subprocess.run([self.tool("tests/postproc/thin_log"), os.path.join(logs, log), os.path.join(kept, log)], check=True)
            with open(os.path.join(logs, "memprof.run"), encoding="utf-8") as f, open(os.path.join(kept, "memprof.run"), "w", encoding="utf-8") as out:
                out.write(re.sub(r"host=\S+", "host=testhost", f.read()))  # as thin_log names it
        self.write(name, self.truth_of(name, done.returncode, done.stdout, done.stderr))

    def keep(self, name, logs, whole_run, on_host):
        """Stores the logs of a run, and returns their size."""
        kept = os.path.join(self.out, name if whole_run else f"{name}.zst")
        if whole_run:
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(logs[0], kept)
        elif on_host:
            shutil.copyfile(logs[0], kept)
            subprocess.run([self.tool("postproc/memprof-report"), "log", "symbolize", kept], check=True, stdout=subprocess.DEVNULL)
        else:
            subprocess.run([self.tool("tests/postproc/thin_log"), logs[0], kept], check=True)

    def record(self, program):
        name = os.path.splitext(os.path.basename(program))[0]
        if os.path.basename(os.path.dirname(program)) == "pairs":
            before, after = (self.run(program, f"{name}.{side}", [side]) for side in ("before", "after"))
            truth = {"bytes": after.get("bytes", []), "peaks": [run["peak"] for run in (before, after) if "peak" in run]}
        else:
            truth = self.run(program, name, [])
        self.write(name, truth)

    def run(self, program, name, arguments):
        """Runs a program, stores its log as `name`, and returns what it printed."""
        with open(program, encoding="utf-8") as f:
            text = f.read()
        whole_run = program.endswith(".sh")
        on_host = whole_run or program.endswith(".c") or "# host: yes" in text
        extra = dict(word.split("=", 1) for line in re.findall(r"^(?:#|//) record: (.*)$", text, re.M) for word in line.split())
        with tempfile.TemporaryDirectory() as folder:
            logs = os.path.join(folder, "logs")
            os.mkdir(logs)
            environment = {**os.environ, "LD_PRELOAD": f"{COPY}/libmemprof.so", "MEMPROF_QUIET": "1",
                           "MEMPROF_OUT": os.path.join(logs, "%e.%p.zst" if whole_run else "%p.zst"), **extra}
            if on_host:
                environment["PATH"] = SYSTEM_PATH
            else:
                environment["MEMPROF_HOST"] = "off"
            if not whole_run:
                environment["MEMPROF_MIN_RSS"] = "0"
            with subprocess.Popen([*self.command(program), *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                printed, errors = process.communicate(timeout=TIMEOUT)
            self.keep(name, [logs] if whole_run else [os.path.join(logs, f"{process.pid}.zst")], whole_run, on_host)
        return self.truth_of(name, process.returncode, printed, errors)

    @staticmethod
    def truth_of(name, status, printed, errors):
        """Prints a line about a run, and returns the byte counts that the program printed."""
        truth = next((json.loads(line) for line in reversed(printed.splitlines()) if line.startswith("{")), {})
        failed = status or not truth or any(truth.get("status", []))
        print(f"{name}: status {status}, {truth}", errors[-1500:] if failed else "", flush=True)
        return truth

    def write(self, name, truth):
        with open(os.path.join(self.out, f"{name}.json"), "w", encoding="utf-8") as f:
            json.dump(truth, f)
            f.write("\n")


def is_job(program):
    return os.path.exists(os.path.join(HERE, "ranks", program))


def main():
    build, out, *programs = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    recorder = Recorder(build, os.path.abspath(out))
    for folder in ("programs", "ranks", "kept", "kept_second"):
        shutil.copytree(os.path.join(HERE, folder), COPY, dirs_exist_ok=True)
    shutil.copytree(os.path.join(HERE, "pairs"), os.path.join(COPY, "pairs"), dirs_exist_ok=True)
    shutil.copy(recorder.tool("preload/libmemprof.so"), COPY)
    os.chdir(COPY)
    for program in programs or sorted(os.listdir(os.path.join(HERE, "programs"))):
        if program.endswith(".logs"):
            continue
        try:
            (recorder.record_job if is_job(program) else recorder.record)(program)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"{program}: {error}", flush=True)


if __name__ == "__main__":
    main()
