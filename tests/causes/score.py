#!/usr/bin/env python3
"""Scores memprof-report's verdict on programs whose cause is known.

score.py [--check FILE HEADER]     with MEMPROF_REPORT set

A case is a program (programs/NAME.*), the log that it left (logs/NAME.zst) and its own byte counts (logs/NAME.json). A program of
ranks/ starts several processes, whose logs are in the folder logs/NAME. The programs of kept/ and kept_second/ were written by
somebody who did not know the rules. Each batch was scored once before anybody read it, and docs/VALIDATION.md has that score.
Later rules were written with it. The comment at the top of a
program states the verdict that is right:

    # cause: the key of the finding, or "none" for a healthy program
    # owner: a regular expression that matches the path or the sentence of the finding
    # change: a regular expression that matches the advice

A finding is right if its key, its owner and its bytes are: one of its numbers is within 2 % of one of the program's. The first
finding of `memprof-report -f json LOG` is scored, then the best of all. A finding in a healthy program is a false alarm.

A pair is a program of pairs/ that ran twice, and the two logs are in pairs_logs/. The authors of pairs_kept/ and pairs_kept_second/ knew no rules; each
batch was scored once before anybody read it. A file NAME.logs names two logs of logs/ instead. Its findings are those of `memprof-report diff`
on both logs. The comment "larger" states which run holds more. The bytes may also be the difference between the two peaks.

The source of a healthy program ends with "; nearly: KEY..." if it does what these findings are about, but too little of it, or in
a way that is right.

--check compares the cases that pass with FILE, which lists them: a case that passed and no longer does is an error. With
UPDATE=1 the file is written again. Each finding that HEADER lists must have a case that passes, and a healthy program that
is nearly one."""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LOGS = os.path.join(HERE, "logs")
PAIRS, PAIRS_KEPT, PAIRS_KEPT_SECOND, PAIRS_LOGS = (os.path.join(HERE, name) for name in ("pairs", "pairs_kept", "pairs_kept_second", "pairs_logs"))
FIELD = re.compile(r"^(?:#|//) (cause|owner|change|larger|logs|source): (.*)$", re.M)
NEARLY = re.compile(r"; nearly: ([a-z_ ]+)$")
TOLERANCE = 0.02


class Case:
    def __init__(self, program, truth=None):
        self.name = self.listed = os.path.splitext(os.path.basename(program))[0]
        self.right = fields(program)
        self.nearly = " ".join(NEARLY.findall(self.right.get("source", ""))).split()
        with open(truth or truth_of(program), encoding="utf-8") as f:
            self.truth = json.load(f)
        self.bytes = self.truth.get("bytes", [])
        self.healthy = self.right["cause"] == "none"
        self.findings = self.read()

    def read(self):
        return findings(log_of(self.name))

    def parts(self, finding):
        """{part of the verdict: whether it is right}"""
        return {"kind": finding["finding"] == self.right["cause"], "owner": self.has_owner(finding), "bytes": self.has_bytes(finding),
                "change": bool(re.search(self.right["change"], finding["change"]))}

    def has_owner(self, finding):
        return bool(re.search(self.right["owner"], " > ".join([*finding.get("path", []), finding["what"]])))

    def has_bytes(self, finding):
        said = [*self.sizes(finding), *finding.get("numbers", {}).values()]
        return not self.bytes or any(abs(number - right) <= TOLERANCE * right for number in said for right in self.bytes)

    def sizes(self, finding):
        return [finding["saves_at_most_bytes"]]

    def is_right(self, finding):
        parts = self.parts(finding)
        return parts["kind"] and parts["owner"] and parts["bytes"]

    def passes(self):
        return not self.findings if self.healthy else bool(self.findings) and self.is_right(self.findings[0])


class Pair(Case):
    def __init__(self, program, folder=PAIRS):
        path, named = os.path.join(folder, program), program.endswith(".logs")
        self.logs = [os.path.join(LOGS, log) for log in fields(path)["logs"].split()] if named else sides(program)
        super().__init__(path, f"{os.path.dirname(self.logs[0])}.json" if named else truth_of(program, PAIRS_LOGS))
        self.listed = f"{os.path.basename(folder)}/{self.name}"
        if peaks := self.truth.get("peaks"):
            self.bytes = [*self.bytes, abs(peaks[1] - peaks[0])]

    def read(self):
        return findings("diff", *self.logs)

    def sizes(self, finding):
        peaks = finding["numbers"]
        return [abs(finding["change_bytes"]), abs(peaks["peak_new_bytes"] - peaks["peak_base_bytes"])]

    def parts(self, finding):
        parts = super().parts(finding)
        parts["kind"] &= finding["more"] == {"before": "base", "after": "new"}[self.right["larger"]]
        return parts


def sides(pair):
    """The two logs of a pair's program."""
    return [os.path.join(PAIRS_LOGS, f"{os.path.splitext(pair)[0]}.{side}.zst") for side in ("before", "after")]


def fields(program):
    with open(program, encoding="utf-8") as f:
        return dict(FIELD.findall(f.read()))


def programs(*folders):
    """All programs of folders with a verdict that were recorded: a module that they import has no verdict."""
    paths = [os.path.join(HERE, folder, name) for folder in folders for name in sorted(os.listdir(os.path.join(HERE, folder)))]
    return [path for path in paths if os.path.isfile(path) and "cause" in fields(path) and os.path.exists(truth_of(path))]


def recorded_pairs(folder):
    """The pairs of a folder that were recorded, or whose logs are those of other programs."""
    return [pair for pair in sorted(os.listdir(folder)) if pair.endswith(".logs") or os.path.exists(truth_of(pair, PAIRS_LOGS))]


def truth_of(program, logs=LOGS):
    return os.path.join(logs, os.path.splitext(os.path.basename(program))[0] + ".json")


def log_of(name):
    """The log of a case, or the folder with the logs of its processes."""
    log = os.path.join(LOGS, name)
    return log if os.path.isdir(log) else f"{log}.zst"


def findings(*arguments):
    done = subprocess.run([os.environ["MEMPROF_REPORT"], *arguments, "-f", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if not done.stdout:
        sys.exit(f"{' '.join(arguments)}: {done.stderr.decode()}")
    return json.loads(done.stdout)["findings"]


def row(case):
    if case.healthy:
        return [case.name, "", "", "", "", "", "false alarm" if case.findings else "quiet"]
    first = case.parts(case.findings[0]) if case.findings else {}
    marks = ["yes" if first.get(part) else "no" for part in ("kind", "owner", "bytes", "change")]
    found = case.findings[0]["finding"] if case.findings else "none"
    verdict = "first" if case.passes() else "later" if any(map(case.is_right, case.findings)) else "missed"
    return [case.name, f"{case.right['cause']} ({found})", *marks, verdict]


def print_table(cases):
    print("| case | cause (first finding) | kind | owner | bytes | change | verdict |\n|---|---|---|---|---|---|---|")
    for case in cases:
        print(f"| {' | '.join(row(case))} |")


def print_rates(cases, of):
    planted, healthy = [c for c in cases if not c.healthy], [c for c in cases if c.healthy]
    first, found = sum(c.passes() for c in planted), sum(any(map(c.is_right, c.findings)) for c in planted)
    alarms = sum(not c.passes() for c in healthy)
    print(f"\n{of}: first finding right: {first} of {len(planted)}; any finding right: {found} of {len(planted)}; "
          f"false alarms: {alarms} of {len(healthy)} healthy ones\n")


def check(cases, path):
    passing = [case.listed for case in cases if case.passes()]
    if os.environ.get("UPDATE"):
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(f"{name}\n" for name in passing)
        return
    with open(path, encoding="utf-8") as f:
        before = f.read().split()
    if lost := sorted(set(before) - set(passing)):
        sys.exit(f"these cases passed before: {', '.join(lost)}")
    if new := sorted(set(passing) - set(before)):
        sys.exit(f"these cases pass now; add them with UPDATE=1: {', '.join(new)}")


def check_rules(cases, header):
    with open(header, encoding="utf-8") as f:
        keys = set(re.findall(r'^    X\(\w+, "(\w+)"\)', f.read(), re.M))
    right = {case.right["cause"] for case in cases if case.passes()}
    nearly = {key for case in cases for key in case.nearly}
    if not keys or keys - right or keys - nearly or nearly - keys:
        sys.exit(f"findings without a case that passes: {sorted(keys - right)}; without a healthy program that is nearly one: "
                 f"{sorted(keys - nearly)}; not findings: {sorted(nearly - keys)}")


def main():
    cases = [Case(program) for program in programs("programs", "ranks")]
    kept = [Case(program) for program in programs("kept")]
    second = [Case(program) for program in programs("kept_second")]
    pairs, pairs_kept, pairs_second = ([Pair(program, folder) for program in recorded_pairs(folder)] for folder in (PAIRS, PAIRS_KEPT, PAIRS_KEPT_SECOND))
    for of, scored in (("programs", cases), ("kept apart", kept), ("second batch kept apart", second), ("pairs", pairs), ("pairs kept apart", pairs_kept),
                       ("second batch of pairs kept apart", pairs_second)):
        print_table(scored)
        print_rates(scored, of)
    if sys.argv[1:2] == ["--check"]:
        check([*cases, *kept, *second, *pairs, *pairs_kept, *pairs_second], sys.argv[2])
        check_rules([*cases, *kept, *second], sys.argv[3])


if __name__ == "__main__":
    main()
