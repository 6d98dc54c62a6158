"""Parses the output of test programs into {name of a test: its result}."""
import re
import xml.etree.ElementTree

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
TAP = re.compile(r"^(not )?ok\s+(\d+)?\s*(?:-\s*)?(.*?)\s*(?:#\s*(skip|todo)\b.*)?$", re.I)
NONE = re.compile(r"^1\.\.0\s*#\s*skip\b", re.I)
REDIS = re.compile(r"^\[(ok|err|skip|ignore|exception)\]: (.*?)(?: \(\d+ ms\))?$")


def numbered(pairs):
    """Numbers tests that have the same name by their order."""
    tests, seen = {}, {}
    for name, result in pairs:
        seen[name] = seen.get(name, 0) + 1
        tests[name if seen[name] == 1 else f"{name} ({seen[name]})"] = result
    return tests


def tap(text):
    """Parses the Test Anything Protocol, as written by git, Node and the programs of this folder. A test that is
    expected to fail keeps its result."""
    def pairs():
        for line in text.splitlines():
            if NONE.match(line):
                yield "all", SKIPPED
            elif m := TAP.match(line):
                skipped = (m[4] or "").lower() == "skip"
                yield m[3] or m[2], SKIPPED if skipped else FAILED if m[1] else PASSED
    return numbered(pairs())


def redis(text):
    states = {"ok": PASSED, "err": FAILED, "exception": FAILED}
    lines = (REDIS.match(COLOUR.sub("", line)) for line in text.splitlines())
    return numbered((m[2].split(" in tests/")[0], states.get(m[1], SKIPPED)) for m in lines if m)


def junit(path):
    """Parses the XML that python3 -m test --junit-xml writes."""
    def result(case):
        if case.find("failure") is not None or case.find("error") is not None:
            return FAILED
        return SKIPPED if case.find("skipped") is not None or case.get("result") == "skipped" else PASSED
    try:
        root = xml.etree.ElementTree.parse(path).getroot()
    except (FileNotFoundError, xml.etree.ElementTree.ParseError):
        return {}
    return numbered((case.get("name"), result(case)) for case in root.iter("testcase"))
