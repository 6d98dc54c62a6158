"""example.py HACKING.md OUTPUT [COLUMN]: extracts the small report of docs/HACKING.md as a C file. With COLUMN it gets
one more column, and other names."""
import re
import sys

text = open(sys.argv[1]).read()
block = re.search(r"^\*\*A report\*\*.*?\n\n((?:    [^\n]*\n|\n)+)", text, re.M | re.S)
code = re.sub(r"^    ", "", block.group(1), flags=re.M)
if len(sys.argv) > 3:
    code = code.replace("\n};", f"\n    {sys.argv[3]},\n}};", 1)
    code = re.sub(r"\b(columns|mpr_report_owners)\b", r"\1_and_more", code)
open(sys.argv[2], "w").write(code)
