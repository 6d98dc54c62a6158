#!/usr/bin/env python3
"""reap.py SECONDS USER COMMAND...: runs a command as a user, and ends what it left behind, as an init would, so that the next one finds the
machine as it was.  Ends with the command's status, 128 + N for a signal, 124 where it ran out of time.  USER - is who calls."""
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
    """Kills every process below this one: the children of a killed process become this one's."""
    while left := children():
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        for pid in left:
            os.waitpid(pid, 0)


class Late(Exception):
    """The command has had its time."""


def late(_signal, _frame):
    raise Late


def ended(pid):
    """Waits for a child, and for all that become this one's children meanwhile: the command's status."""
    while True:
        who, status = os.wait()
        if who == pid:
            code = os.waitstatus_to_exitcode(status)
            return 128 - code if code < 0 else code


def main():
    seconds, user, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)        # a shell's background job ignores it, and so would the command
    who = {} if user == "-" else {"user": user, "group": "nogroup", "extra_groups": []}
    # The preloaded libraries are for the command, and were kept from this program.
    env = {k: v for k, v in os.environ.items() if k != "REAP_PRELOAD"}
    if os.environ.get("REAP_PRELOAD"):
        env["LD_PRELOAD"] = os.environ["REAP_PRELOAD"]
    process = subprocess.Popen(command, env=env, start_new_session=True, **who)
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
