"""Documents show the output that their commands print: the lines below an indented line that begins with "$ memprof-report", or, in a manual page
(*.1), the lines from such a line after .EX up to .EE.

test_shown.py DOCUMENT, with MEMPROF_REPORT set. Commands run in tests/golden, in a terminal of 96 columns (80 for a manual). UPDATE=1 rewrites the
document.

test_shown.py --parts DOCUMENT checks examples that omit lines, of logs in tests/golden, without a terminal: the shown lines are printed in this
order. A line that ends in "..." is the beginning of a line."""
import difflib
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
GOLDEN = os.path.join(ROOT, "tests", "golden")
EXAMPLE = re.compile(r"^    \$ (memprof-report .*)\n((?:(?:    (?!\$ ).*)?\n)*?)(?=\S|    \$ |\Z)", re.M)


PARTS = re.compile(r"^    \$ (memprof-report .*tests/golden/.*)\n((?:    (?!\$ ).*\n|\n(?=    (?!\$ )))*)", re.M)
MANUAL = re.compile(r"^\.EX\n\$ (memprof.?-report .*)\n(?:.*\n)*?\.EE$", re.M)
FINE = 0, 4                     # the latter for check, if a limit is exceeded


def run(command, columns, cwd=GOLDEN, **options):
    report = os.environ["MEMPROF_REPORT"]
    environment = dict(os.environ, COLUMNS=str(columns), PATH=f"{os.path.dirname(report)}:{os.environ['PATH']}")
    done = subprocess.run(command, shell=True, cwd=cwd, env=environment, stdout=subprocess.PIPE, text=True, **options)
    if done.returncode not in FINE:
        sys.exit(f"{command}: status {done.returncode}")
    return done.stdout.splitlines()


def printed(command):
    return "".join(f"    {line}".rstrip() + "\n" for line in run(command, 96)) + "\n"


def roff(line):
    line = line.rstrip().replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{line}" if line[:1] in (".", "'") else line


def manual(match):
    """Runs an example of a manual page and returns its output with standard error."""
    lines = run(match[1].replace("\\-", "-"), 80, stderr=subprocess.STDOUT)
    return "\n".join([".EX", f"$ {match[1]}", *map(roff, lines), ".EE"])


def check_parts(path):
    with open(path, encoding="utf-8") as f:
        examples = PARTS.findall(f.read())
    if not examples:
        sys.exit(f"{path}: no example")
    for command, shown in examples:
        lines = iter(run(command, "", ROOT))
        for wanted in filter(None, (line[4:] for line in shown.splitlines())):
            begins = wanted.endswith("...")
            if not any(line.startswith(wanted[:-3]) if begins else line == wanted for line in lines):
                sys.exit(f"{command} does not print, or not there:\n{wanted}")


def main():
    if sys.argv[1] == "--parts":
        return check_parts(sys.argv[2])
    with open(sys.argv[1], encoding="utf-8") as f:
        shown = f.read()
    example, example_of = (MANUAL, manual) if sys.argv[1].endswith(".1") else (EXAMPLE, lambda m: f"    $ {m[1]}\n{printed(m[1])}")
    if not example.search(shown):
        sys.exit(f"{sys.argv[1]}: no example")
    today = example.sub(example_of, shown)
    if os.environ.get("UPDATE"):
        with open(sys.argv[1], "w", encoding="utf-8") as f:
            f.write(today)
    elif today != shown:
        sys.stdout.writelines(difflib.unified_diff(shown.splitlines(True), today.splitlines(True), "shown", "printed"))
        sys.exit("UPDATE=1 writes the document again")


main()
