#!/usr/bin/env python3
"""Lists the lines that the tests of preset coverage have reached, by folder. With a folder's name: its files, the worst first. With a
file's name or --lines: the lines that were not reached.
usage: scripts/coverage.py [--lines] [BUILD [PLACE]]        BUILD: build/coverage; PLACE: such as preload/cuda or preload/core/epoch.c"""
import argparse
import collections
import glob
import os
import shutil
import subprocess
import tempfile

ROOT = os.path.realpath(os.path.dirname(os.path.abspath(__file__)) + "/..")
PARTS = ("format", "launcher", "postproc", "preload")
TOOLS = ("", "-14")       # suffixes of the names of clang's tools


def tool(name):
    found = [name + version for version in TOOLS if shutil.which(name + version)]
    return found[0] if found else exit(f"coverage: {name} is not here")


def holds_counters(path):
    with open(path, "rb") as f:
        return f.read(4) == b"\x7fELF" and b"__llvm_covmap" in f.read()


def programs(build):
    """Returns the instrumented programs and libraries."""
    for folder, _, files in os.walk(build):
        for path in (os.path.join(folder, name) for name in files):
            if (path.endswith(".so") or os.access(path, os.X_OK)) and os.path.isfile(path) and holds_counters(path):
                yield path


def exported(build, place):
    """Returns the counts of all programs together, in lcov's form."""
    data = os.path.join(place, "profdata")
    profiles = glob.glob(build + "/profiles/*.profraw")
    subprocess.run([tool("llvm-profdata"), "merge", "-sparse", *profiles, "-o", data], check=True)
    objects = [f"-object={path}" for path in programs(build)]
    return subprocess.run([tool("llvm-cov"), "export", "-format=lcov", f"-instr-profile={data}", *objects], check=True, stdout=subprocess.PIPE, text=True).stdout


def reached(text):
    """Returns {file: {line: reached}} of the files in this tree."""
    lines, of_file = {}, {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key == "SF":
            path = os.path.relpath(os.path.realpath(value), ROOT)
            of_file = lines.setdefault(path, {}) if path.startswith(tuple(part + "/" for part in PARTS)) else {}
        elif key == "DA":
            number, count = value.split(",")[:2]
            of_file[int(number)] = of_file.get(int(number), False) or count != "0"
    return {path: of_file for path, of_file in lines.items() if of_file}


def share(lines):
    return sum(lines) / len(lines)


def print_sums(title, of_name):
    print(f"{title:44s} {'lines':>7s} {'reached':>8s}")
    for name, lines in of_name:
        print(f"{name:44s} {len(lines):7d} {100 * share(lines):6.1f} %")


def print_folders(lines):
    folders = collections.defaultdict(list)
    for path, of_file in lines.items():
        folder = os.path.dirname(path)
        while folder:
            folders[folder] += of_file.values()
            folder = os.path.dirname(folder)
    print_sums("folder", [("  " * folder.count("/") + folder, folders[folder]) for folder in sorted(folders)])


def print_files(lines):
    print_sums("file", sorted(((path, list(of_file.values())) for path, of_file in lines.items()), key=lambda item: share(item[1])))


def print_missed(lines):
    for path, of_file in sorted(lines.items()):
        with open(os.path.join(ROOT, path)) as f:
            source = f.read().splitlines()
        for number in sorted(number for number, is_reached in of_file.items() if not is_reached):
            print(f"{path}:{number}: {source[number - 1].strip()}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("--lines", action="store_true")
    parser.add_argument("build", nargs="?", default=ROOT + "/build/coverage")
    parser.add_argument("place", nargs="?", default="")
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lines = reached(exported(os.path.abspath(o.build), folder))
    chosen = {path: of_file for path, of_file in lines.items() if path == o.place or path.startswith(o.place.rstrip("/") + "/") or not o.place}
    if o.lines or o.place in lines:
        print_missed(chosen)
    else:
        (print_files if o.place else print_folders)(chosen)


if __name__ == "__main__":
    main()
