"""Starts the processes of a job on one machine, as torchrun does, and prints their byte counts.  Not a case."""
import json
import os
import subprocess
import sys
import tempfile
import time

LIMIT = 60  # seconds


def folder():
    """The job's folder for files."""
    return os.environ["JOB_FOLDER"]


def mark(name):
    """Lets wait_for(name) return in the other processes."""
    with open(os.path.join(folder(), name), "w", encoding="utf-8"):
        pass


def wait_for(name):
    end = time.monotonic() + LIMIT
    while not os.path.exists(os.path.join(folder(), name)) and time.monotonic() < end:
        time.sleep(0.05)


def report(*counts):
    """Prints byte counts, which the job's first process collects."""
    print(json.dumps(counts), flush=True)


def start_process(environment, *arguments):
    return subprocess.Popen([sys.executable, sys.argv[0], *arguments], env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True)


def collect(processes):
    lines = [line for process in processes for line in process.communicate()[0].splitlines()]
    print(json.dumps({"bytes": sum((json.loads(line) for line in lines if line.startswith("[")), []),
                      "status": [process.returncode for process in processes]}))
    sys.exit(0)


def stop_after_failure(processes):
    """Ends the other ranks when one has failed."""
    end = time.monotonic() + LIMIT
    while any(process.poll() is None for process in processes):
        time.sleep(0.1)
        if any(process.poll() for process in processes) or time.monotonic() > end:
            for process in processes:
                process.terminate()
            return


def start_ranks(ranks):
    """Returns the rank, in each rank.  The process that starts them prints their byte counts and ends."""
    if "RANK" in os.environ:
        return int(os.environ["RANK"])
    with tempfile.TemporaryDirectory() as path:
        job = {"JOB_FOLDER": path, "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29513", "GLOO_SOCKET_IFNAME": "lo"}
        processes = [start_process({**job, "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(ranks)]
        stop_after_failure(processes)
        collect(processes)


def start_roles(*roles, unrecorded=()):
    """Returns the role, in the process of each role.  Each one ends by itself."""
    if len(sys.argv) > 1:
        return sys.argv[1]
    with tempfile.TemporaryDirectory() as path:
        plain = {"JOB_FOLDER": path, "LD_PRELOAD": ""}
        collect([start_process(plain if role in unrecorded else {"JOB_FOLDER": path}, role) for role in roles])
