"""The change that docs/HACKING.md shows is in the sources: each line that begins with "+" is in the file named above it.

test_documented_change.py TOP"""
import pathlib
import re
import sys

top = pathlib.Path(sys.argv[1])
lines, file = 0, None
for line in (top / "docs/HACKING.md").read_text().splitlines():
    named = re.match(r"    ([\w/.-]+): ", line)
    if named and (top / named[1]).is_file():
        file = named[1]
    elif file and line.startswith("    +"):
        lines += 1
        if line[5:] not in (top / file).read_text().splitlines():
            sys.exit(f"{file} has no line: {line[5:]}")
    elif file and line and not line.startswith("    "):
        file = None
sys.exit(None if lines > 5 else "docs/HACKING.md shows no change")
