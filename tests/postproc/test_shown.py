"""What a document shows is what its commands print: an indented line that begins with "$ memprof-report" and the lines below it.

test_shown.py DOCUMENT, with MEMPROF_REPORT set.  Commands run in tests/golden, in a terminal of 96 columns.  With UPDATE=1 the
document is written again.
"""
import difflib
import os
import re
import subprocess
import sys

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden")
EXAMPLE = re.compile(r"^    \$ (memprof-report .*)\n((?:(?:    (?!\$ ).*)?\n)*?)(?=\S|    \$ |\Z)", re.M)


def printed(command):
    report = os.environ["MEMPROF_REPORT"]
    environment = dict(os.environ, COLUMNS="96", PATH=f"{os.path.dirname(report)}:{os.environ['PATH']}")
    done = subprocess.run(command, shell=True, cwd=GOLDEN, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    return "".join(f"    {line}".rstrip() + "\n" for line in done.stdout.splitlines()) + "\n"


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        shown = f.read()
    if not EXAMPLE.search(shown):
        sys.exit(f"{sys.argv[1]}: no example")
    today = EXAMPLE.sub(lambda m: f"    $ {m[1]}\n{printed(m[1])}", shown)
    if os.environ.get("UPDATE"):
        with open(sys.argv[1], "w", encoding="utf-8") as f:
            f.write(today)
    elif today != shown:
        sys.stdout.writelines(difflib.unified_diff(shown.splitlines(True), today.splitlines(True), "shown", "printed"))
        sys.exit("UPDATE=1 writes the document again")


main()
