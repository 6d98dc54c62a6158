"""The callbacks of examples/trainers on a GPU make each step an instance of the range, and PyTorch's peak equals memprof's.

check_trainers.py BUILD [lightning|transformers ...], with PyTorch and these packages. Not a CTest test, because it needs a
GPU."""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "../../examples/trainers")
# how often the program must enter each range
WANTED = {"lightning": {"step": 16, "forward": 16, "backward": 16, "optimizer": 16, "validation": 3},
          "transformers": {"step": 10, "optimizer": 10}}


def report(build, *arguments):
    done = subprocess.run([os.path.join(build, "postproc/memprof-report"), *arguments], stdout=subprocess.PIPE, check=True, text=True)
    return done.stdout


def check(build, name, folder):
    program = os.path.join(EXAMPLES, name + "_ranges.py")
    logs = os.path.join(folder, name)
    done = subprocess.run([os.path.join(build, "launcher/memprof"), "run", "-q", "-o", logs, "--", sys.executable, program],
                          stdout=subprocess.PIPE, text=True, check=True)
    own = int(re.search(r"allocated (\d+) B at most", done.stdout)[1])
    log = max((os.path.join(logs, f) for f in os.listdir(logs) if f.endswith(".zst")), key=os.path.getsize)
    peaks = json.loads(report(build, "peaks", "--format", "json", log))["logs"][0]
    peak = next(heap["peak_bytes"] for heap in peaks["heaps"] if heap["heap"] == "gpu0/torch")
    entered = {r: json.loads(report(build, "steps", "--range", r, "--format", "json", log))["instances"] for r in WANTED[name]}
    print(f"{name}: PyTorch {own}, memprof {peak} bytes at most; entered {entered}; {peaks['lost_events']} events lost")
    print(report(build, "steps", log), report(build, "peaks", "--top", "12", log), sep="\n", flush=True)
    return own == peak and entered == WANTED[name] and not peaks["lost_events"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        good = [check(sys.argv[1], name, folder) for name in sys.argv[2:] or WANTED]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
