#!/usr/bin/env python3
"""Lines that the tests of a build with --coverage have reached, by folder; with a folder's name its files, the worst first.
usage: scripts/coverage.py [BUILD [FOLDER]]        BUILD: build/coverage; FOLDER: such as preload/cuda"""
import collections
import json
import os
import subprocess
import sys

ROOT = os.path.realpath(os.path.dirname(os.path.abspath(__file__)) + "/..")
PARTS = ("format", "preload", "postproc")


def notes(build):
    for folder, _, files in os.walk(build):
        yield from (os.path.join(folder, name) for name in files if name.endswith(".gcno"))


def reached(build):
    """{file: {line: reached}} of all object files, of which several may hold a header's lines."""
    lines = collections.defaultdict(dict)
    for note in notes(build):
        out = subprocess.run(["gcov", "--json-format", "--stdout", note], cwd=build, check=True, capture_output=True, text=True).stdout
        for unit in map(json.loads, out.splitlines()):
            for source in unit["files"]:
                path = os.path.relpath(os.path.join(unit["current_working_directory"], source["file"]), ROOT)
                if not path.startswith(PARTS):
                    continue
                of_file = lines[path]
                for line in source["lines"]:
                    of_file[line["line_number"]] = of_file.get(line["line_number"], False) or line["count"] > 0
    return lines


def print_sums(title, of_name):
    print(f"{title:44s} {'lines':>7s} {'reached':>8s}")
    for name, lines in of_name:
        print(f"{name:44s} {len(lines):7d} {100 * sum(lines) / len(lines):6.1f} %")


build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ROOT + "/build/coverage")
lines = {path: list(of_file.values()) for path, of_file in reached(build).items() if of_file}
if len(sys.argv) > 2:
    chosen = [item for item in lines.items() if item[0].startswith(sys.argv[2].rstrip("/") + "/")]
    print_sums("file", sorted(chosen, key=lambda item: sum(item[1]) / len(item[1])))
else:
    folders = collections.defaultdict(list)
    for path, reached_lines in lines.items():
        folders[path.split("/")[0]] += reached_lines
        if "/" in os.path.dirname(path):
            folders["  " + os.path.dirname(path)] += reached_lines
    print_sums("folder", sorted(folders.items(), key=lambda item: item[0].strip()))
