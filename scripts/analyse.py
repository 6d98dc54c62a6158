#!/usr/bin/env python3
"""Runs cppcheck 2.10 (scripts/cppcheck.txt), clang-tidy 14 (.clang-tidy) and the analyzer of gcc 12 on the sources of format, preload,
postproc and launcher that a build folder compiles. Prints each finding that is not in scripts/findings.txt, and their number.
usage: scripts/analyse.py [--slow] [BUILD [TOOL...]]     BUILD: build/dev; TOOL: cppcheck, tidy, gcc (all)
Without --slow, which takes six minutes instead of half a minute on two cores, gcc and the path-sensitive checks of clang-tidy are
left out.
Exit status: 0; 1: there are findings; 77: there are none, but a tool is missing or has another version, which finds other things."""
import concurrent.futures
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.dirname(os.path.abspath(__file__)) + "/..")
PARTS = re.compile(re.escape(ROOT) + r"/(format|preload|postproc|launcher)/.*\.c$")
# options that clang does not know, that let gcc skip its analysis, or that turn a finding into an error
UNWANTED = re.compile(r" -flto\S*| -fno-fat-lto-objects| -Werror")
FINDING = re.compile(r"^(?P<file>\S+):(?P<line>\d+):(?P<column>\d+): (?:warning|error): (?P<text>.*) \[(?P<check>[^][]+)\]$")
KNOWN = "scripts/findings.txt"


def commands(build):
    """Returns one compile command per source. Several targets may compile it."""
    with open(os.path.join(build, "compile_commands.json")) as f:
        of_file = {e["file"]: e for e in json.load(f) if PARTS.match(e["file"])}
    return [{**e, "command": UNWANTED.sub("", e["command"])} for e in of_file.values()]


def output(*command, **popen):
    """Returns both streams, because tools differ in where they print findings."""
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **popen).stdout


def each(function, items):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return "".join(pool.map(function, items))


def cppcheck(place, _, __):
    return output("cppcheck", f"--project={place}/compile_commands.json", "--enable=warning,style,performance,portability", "--suppressions-list=scripts/cppcheck.txt",
                  f"-j{os.cpu_count()}", "--quiet", "--template={file}:{line}:{column}: warning: {message} [{id}]")


# Analyses one file at a time: clang-tidy 14 believes that va_list is not initialised in all files but the first.
def tidy(place, sources, slow):
    checks = [] if slow else ["--checks=-clang-analyzer-*"]
    return each(lambda source: output("clang-tidy", "--quiet", "-p", place, *checks, source["file"]), sources)


def gcc(_, sources, __):
    return each(lambda source: output("sh", "-c", re.sub(r" -o \S+", "", source["command"]) + " -fanalyzer -o /dev/null", cwd=source["directory"]), sources)


# name: how to run it, its version, and whether it runs without --slow
TOOLS = {
    "cppcheck": (cppcheck, ("cppcheck", "--version"), r"Cppcheck 2\.10", True),
    "tidy": (tidy, ("clang-tidy", "--version"), r"version 14\.", True),
    "gcc": (gcc, ("gcc", "-dumpfullversion"), r"^12\.", False),
}


def is_here(name):
    _, version, wanted, _ = TOOLS[name]
    try:
        return re.search(wanted, output(*version))
    except FileNotFoundError:
        return None


class Known:
    """A line of findings.txt: tool, check and file, the last two as patterns, and the reason."""

    def __init__(self, number, line):
        self.tool, self.check, self.file, self.reason = line.split(None, 3)
        self.number, self.used = number, False

    def __contains__(self, finding):
        found = fnmatch.fnmatchcase(finding["file"], self.file) and fnmatch.fnmatchcase(finding["check"], self.check)
        self.used |= found
        return found


def known_of(tool):
    with open(KNOWN) as f:
        lines = [Known(number, line) for number, line in enumerate(f, 1) if line.strip() and not line.startswith("#")]
    return [known for known in lines if known.tool == tool]


def name_of(path, build):
    """Headers of preload are found through links in the build folder."""
    return os.path.relpath(os.path.realpath(os.path.join(build, path)), ROOT)


def findings(text, build):
    found = (match.groupdict() for match in map(FINDING.match, text.splitlines()) if match)
    named = ({**f, "file": name_of(f["file"], build)} for f in found)
    return {(f["file"], int(f["line"]), f["check"]): f for f in named}


def look(tool, build, place, slow):
    """Prints findings. Returns the number of new ones, and of lines of findings.txt that matched none."""
    sources = commands(build)
    known = known_of(tool)
    found = [f for _, f in sorted(findings(TOOLS[tool][0](place, sources, slow), build).items()) if not [k for k in known if f in k]]
    for f in found:
        print(f"{f['file']}:{f['line']}:{f['column']}: {f['text']} [{f['check']}]")
    stale = [k for k in known if not k.used] if slow or tool != "tidy" else []
    for k in stale:
        print(f"{KNOWN}:{k.number}: is not found any more: {k.check} in {k.file}")
    print(f"{tool}: {len(found) + len(stale)} findings in {len(sources)} files")
    return len(found) + len(stale)


def main(arguments):
    slow = "--slow" in arguments
    rest = [a for a in arguments if a != "--slow"]
    build = os.path.abspath(rest[0] if rest else os.path.join(ROOT, "build/dev"))
    tools = rest[1:] or [name for name, (*_, always) in TOOLS.items() if slow or always]
    if any(a.startswith("-") for a in rest) or set(tools) - set(TOOLS):
        sys.exit(__doc__)
    os.chdir(ROOT)
    if not os.path.exists(os.path.join(build, "compile_commands.json")):
        sys.exit(f"analyse: no {build}/compile_commands.json: cmake --preset dev makes it")
    count, absent = 0, 0
    with tempfile.TemporaryDirectory() as place:
        with open(os.path.join(place, "compile_commands.json"), "w") as f:
            json.dump(commands(build), f)
        for tool in tools:
            if is_here(tool):
                count += look(tool, build, place, slow or bool(rest[1:]))
            else:
                print(f"{tool}: skipped: the version that scripts/findings.txt is for is not here")
                absent = 77
    return 1 if count else absent


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
