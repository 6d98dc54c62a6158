"""No line of a report is wider than --width, except for words that are wider than a line. Names are cut in one place, never in grouped numbers. No two
lines of a table look alike.

test_width.py [--all]: each report of each log at one width, or at all of them, with MEMPROF_REPORT, MAKE_LOG, MAKE_GPU_LOG, MAKE_STACK_LOG and
GOLDEN set."""
import os
import re
import subprocess
import sys
import tempfile
import unicodedata

REPORT, GOLDEN = os.environ["MEMPROF_REPORT"], os.environ["GOLDEN"]
WIDTHS = 60, 80, 120
REPORTS = [
    ["summary", "--all"], ["ranks"], ["diff", "whole.zst"], ["peaks"], ["peaks", "--by=range"], ["peaks", "--by=stack"], ["peaks", "--by=python"], ["peaks", "--by=thread"], ["peaks", "--by=size"],
    ["peaks", "--by=stack", "--frames=all"], ["peaks", "--by=stack", "--sort=allocs"], ["peaks", "--at=30ms"], ["oom"], ["oom", "--by=stack", "--top=30"], ["oom", "--unfold"], ["timeline"],
    ["steps"], ["steps", "--unfold"], ["leaks"], ["leaks", "--every=10ms", "--by=stack"], ["temporary"], ["processes"], ["breakdown"],
    ["timeline", "--by=stack"], ["segments"], ["segments", "--top=30"], ["graphs"], ["peaks", "--tree"], ["peaks", "--tree", "--bottom-up"], ["log", "info"], ["log", "verify"],
    [],                                                     # the summary
]
AMOUNT = re.compile(r"[≥~+-]*[\d:.,]+( ([KMGT]i)?B| %| [mun]?s)?$|-$")
TREES = "steps", "log", "processes", "timeline", "graphs"     # lines of these differ by their position, a number or a time
COMMAND = re.compile(r"(next:|     | +see:|  run again:)? +(DEBUGINFOD_URLS=\S+ )?memprof(-report)? ")     # kept in full, so that it can be copied
LONG = 40                       # such a word may also be wider than the line: a path, a setting
MADE = {
    "MAKE_LOG": [
        ["whole"], ["unended"], ["reserved"], ["samples"], ["full"], ["limited"], ["killed"], ["lossy"], ["hole"], ["child"], ["worker", "2"],
        ["spike", "100"], ["rank", "1"], ["ranges", "300 層の計算の長い名前 > 注意の計算の長い名前 > 層の長い名前", "200 café du Léman > été > printemps > hiver"],
    ],
    "MAKE_GPU_LOG": [["graphs"], ["segments"], ["growing"], ["layers"], ["reset"], ["serving"], ["backward"], ["rank", "1"]],
    "MAKE_STACK_LOG": [["native"], ["python"], ["foreign"], ["sampled"], ["nearly_all_sampled"]],
}


def columns(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def logs(folder):
    for maker, scenarios in MADE.items():
        for scenario, *rest in scenarios:
            path = os.path.join(folder, f"{scenario}.zst")
            subprocess.run([os.environ[maker], scenario, path, *rest], check=True)
            yield path
    for name in sorted(os.listdir(GOLDEN)):
        if name.endswith(".zst") or name == "workers":
            os.symlink(os.path.join(GOLDEN, name), os.path.join(folder, name))
            yield os.path.join(folder, name)


def text(report, width, path):
    words = 2 if report[:1] == ["log"] else 1       # the command's name
    done = subprocess.run([REPORT, *report[:words], os.path.basename(path), *report[words:], f"--width={width}"], cwd=os.path.dirname(path), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, "LC_ALL": "C.UTF-8"})
    if done.returncode not in (0, 3):
        sys.exit(f"{report} {path}: status {done.returncode}, {done.stderr.decode()}")
    return done.stdout.decode()


def too_wide(line, width):
    return columns(line) > width and not COMMAND.match(line) and columns(line.split()[-1]) < LONG


def cells(line):
    return re.split(r"  +", line.strip())


def badly_cut(line, width):
    """Returns true if a cell is cut twice, in a number, or in grouped numbers, which may need more than a narrow table
    has."""
    return any(cell.count("…") > 1 or re.search(r"^…[\d,.]+( ([KMGT]i)?B)?$", cell) or (width >= 80 and re.search(r"\{\d[^}]*…|…[\d., ]*\}", cell)) for cell in cells(line))


def alike(lines):
    """Returns the lines of a table that differ only in amounts."""
    seen = set()
    for line in lines:
        if not re.match(r"  \S", line):
            seen = seen if line.startswith("    ") else set()
            continue
        texts = tuple(cell for cell in cells(line) if not AMOUNT.match(cell))
        if texts and texts in seen:
            yield line
        seen.add(texts)


def by_number(report, width):
    """Returns true for reports whose lines may look alike. Segments of equal size differ in their free bytes, or by a
    note below. From 80 columns on they also differ by the owner of their oldest block."""
    return bool(report) and (report[0] in TREES or "--tree" in report or (report[0] == "segments" and width < 80))


def wrong(report, width, lines):
    for line in lines:
        if too_wide(line, width):
            yield f"{columns(line)} columns", line
        if badly_cut(line, width):
            yield "cut", line
    if not by_number(report, width):
        for line in alike(lines):
            yield "alike", line


def widths(log_number, report_number):
    """Returns the widths at which a report of a log is checked. Every report is checked at each width with a third of
    the logs, and every log with a third of the reports."""
    return WIDTHS if "--all" in sys.argv else (WIDTHS[(log_number + report_number) % len(WIDTHS)],)


failed = 0
with tempfile.TemporaryDirectory() as folder:
    for i, log in enumerate(logs(folder)):
        for j, report in enumerate(REPORTS):
            for width in widths(i, j):
                for what, line in wrong(report, width, text(report, width, log).splitlines()):
                    print(f"{os.path.basename(log)}: {' '.join(report)}: --width={width}: {what}: {line}")
                    failed += 1
sys.exit(failed > 0)
