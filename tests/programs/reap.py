#!/usr/bin/env python3
"""reap.py SECONDS USER COMMAND...: runs a command as a user, then ends all of its remaining processes, as an init would, so that the
next command finds no process of it. Exits with the command's status, 128 + N for signal N, or 124 after a timeout. USER - is the
current user."""
import ctypes
import os
import signal
import subprocess
import sys

PR_SET_CHILD_SUBREAPER = 36
LATE = 124


def children():
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as f:
        return [int(pid) for pid in f.read().split()]


def sweep():
    """Kills every process below this one. The children of a killed process become children of this one."""
    while left := children():
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        for pid in left:
            os.waitpid(pid, 0)


class Late(Exception):
    """Handles the timeout of the command."""


def late(_signal, _frame):
    raise Late


def ended(pid):
    """Waits for the command, and for all processes that become children of this one, and returns the command's
    status."""
    while True:
        child, status = os.wait()
        if child == pid:
            code = os.waitstatus_to_exitcode(status)
            return 128 - code if code < 0 else code


def main():
    seconds, user, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)        # a shell's background job ignores it, and the command would inherit that
    credentials = {} if user == "-" else {"user": user, "group": "nogroup", "extra_groups": []}
    # The preloaded libraries are for the command, so they were not set for this program.
    env = {k: v for k, v in os.environ.items() if k != "REAP_PRELOAD"}
    if os.environ.get("REAP_PRELOAD"):
        env["LD_PRELOAD"] = os.environ["REAP_PRELOAD"]
    process = subprocess.Popen(command, env=env, start_new_session=True, **credentials)
    signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        status = ended(process.pid)
    except Late:
        status = LATE
    signal.alarm(0)
    sweep()
    sys.exit(status)


if __name__ == "__main__":
    main()
