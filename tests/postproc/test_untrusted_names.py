"""Names in a log cannot do harm, in every command and every format that it writes.

A name can contain any bytes. No output may contain invisible characters. Text contains no terminal controls, CSV no formulas and HTML no
markup from a name. A name cannot end a string in JSON or in JUnit's XML, stays text in a database, and contains no code in a pickle.

test_untrusted_names.py ROW|--list, with MEMPROF_REPORT, MAKE_NASTY_LOG, MEMPROF_PAGE and MEMPROF_SQLITE set, and MEMPROF if the launcher is built."""
import csv
import gzip
import html.parser
import io
import json
import os
import pickle
import pickletools
import re
import socket
import sqlite3
import stat
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from wire import fields, message

REPORT, MAKE = os.environ["MEMPROF_REPORT"], os.environ["MAKE_NASTY_LOG"]
PAGE, SQLITE = os.environ["MEMPROF_PAGE"] == "1", os.environ["MEMPROF_SQLITE"] == "1"
TIMEOUT = 60
ALL = ["text", "ascii", "color", "json", "csv"]
STACKS = [*ALL, "folded"]                  # for reports whose rows have call stacks or ranges
COMPARED = {"oom", "steps", "diff"}        # two numbers per stack
NAME = "=1\033]0;x\a\u202e<b>\u200b"       # of the folder that contains the logs

# command: its arguments, number of logs, formats
TABLE = {
    "summary": ([], 1, STACKS), "oom": ([], 1, STACKS), "timeline": ([], 1, STACKS), "graphs": ([], 1, STACKS),
    "segments": ([], 1, STACKS), "breakdown": ([], 1, STACKS), "leaks": ([], 1, STACKS), "steps": ([], 1, STACKS),
    "temporary": ([], 1, STACKS), "processes": ([], 1, ALL), "ranks": ([], 2, [*ALL, "tables"]), "log info": ([], 1, ALL), "log verify": ([], 1, ALL),
    "peaks": ([], 1, STACKS), "diff": ([], 2, STACKS), "top": ([], 1, STACKS),
    "check": (["--max=host/heap=1"], 1, [*ALL, "junit"]), "html": ([], 2, ["html"]), "export": (["--to=sqlite"], 1, ["sqlite"]), "log digest": ([], 1, ["sqlite"]),
    "log recover": ([], 1, ["message"]), "log symbolize": ([], 1, ["message"]), "log compact": (["--keep=1M"], 1, ["message"]),
}
EXPORTS = ["pprof", "perfetto", "torch-snapshot"]     # do not need SQLite
# the same with other options: each grouping, and reports that show more
MORE = {f"peaks --by {by}": (["peaks", "--by", by], 1, STACKS) for by in ("range", "stack", "python", "library", "thread", "size", "heap", "comm", "graph")}
MORE |= {
    "peaks --all": (["peaks", "--all"], 2, ["text", "json", "folded"]), "peaks --frames all": (["peaks", "--frames", "all", "--unfold"], 1, ALL), "timeline --by thread": (["timeline", "--by", "thread"], 1, ALL),
    "check --against": (["check", "--against"], 2, [*ALL, "junit"]), "check --suggest": (["check", "--suggest"], 1, ["text"]), "leaks --by thread": (["leaks", "--by", "thread"], 1, ALL),
    "steps --by stack": (["steps", "--by", "stack"], 1, ALL), "summary --all": (["summary", "--all"], 1, STACKS),
    "peaks --tree": (["peaks", "--tree"], 1, STACKS), "peaks --tree --by python": (["peaks", "--tree", "--by", "python"], 1, ALL),
}
MORE |= {f"export --to {form}": (["export", "--to", form], 1, [form]) for form in EXPORTS}
SUITE = {**{name: ([*name.split(), *rest], logs, formats) for name, (rest, logs, formats) in TABLE.items()}, **MORE}

# commands that this build does not have
ABSENT = ([] if PAGE else ["html"]) + ([] if SQLITE else ["export", "log digest"])

UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
                    "\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]")
COLOR = re.compile("\033\\[[0-9;]*m")


COMMAND = re.compile(r"^\s*::|##(\[|vso)", re.M)        # of GitHub and Azure, which interpret the output of a job


def fail(what, text):
    sys.exit(f"{what}: {text}")


def texts():
    return subprocess.run([MAKE, "--list"], stdout=subprocess.PIPE, check=True).stdout.split(b"\0")[:-1]


def report(*arguments, locale="C.UTF-8", statuses=(0, 3, 4)):
    done = subprocess.run([REPORT, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT,
                          env={**os.environ, "LC_ALL": locale})
    if done.returncode not in statuses:
        fail(arguments, f"status {done.returncode}, {done.stderr!r}")
    return done


# ---- checks of each format

def seen(what, text, controls=UNSEEN):
    found = controls.search(text)
    if found:
        fail(what, f"{found.group()!r} in {text[max(0, found.start() - 60):found.end() + 60]!r}")
    return text


def printed(what, text):
    return seen(what, seen(what, text), COMMAND)


def is_text(what, output):
    printed(what, output.decode())


def is_ascii(what, output):
    printed(what, output.decode("ascii"))


def is_color(what, output):
    printed(what, COLOR.sub("", output.decode()))


def is_json(what, output):
    text = printed(what, output.decode())
    decoder, at, found = json.JSONDecoder(), 0, 0
    while text[at:].strip():
        _, at = decoder.raw_decode(text, at + len(text[at:]) - len(text[at:].lstrip()))
        found += 1
    if not found:
        fail(what, "no JSON")


def is_csv(what, output):
    text = seen(what, output.decode())
    rows = [cell for row in csv.reader(io.StringIO(text), strict=True) for cell in row]
    for cell in rows:
        for part in cell.split(";"):        # some languages separate cells by it
            if re.match(r"\s*[=+@\-\uff1d\uff0b\uff0d\uff20]", part) and not re.fullmatch(r"-?[0-9.]+(e-?[0-9]+)?", part):
                fail(what, f"a formula: {cell!r}")


def is_junit(what, path):
    with open(path, "rb") as file:
        content = file.read()
    seen(what, content.decode())
    if not xml.etree.ElementTree.fromstring(content).findall("testsuite/testcase"):
        fail(what, "no tests")


def is_folded(what, output):
    for line in printed(what, output.decode()).splitlines():
        numbers = re.search(r"( +[0-9]+(\.[0-9]*)?)*$", line).group().split()
        if len(numbers) != 1 + (what.split()[0] in COMPARED) or not line.rstrip("0123456789. "):
            fail(what, f"no stack and its bytes: {line!r}")


class Page(html.parser.HTMLParser):
    """Parses a page as a browser would: its elements with their attributes' names, and its text."""

    def __init__(self):
        super().__init__()
        self.elements, self.text, self.inside = [], [], []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, *sorted(name for name, _ in attributes)))
        for name, value in attributes:
            if name.startswith("on") or (name in ("href", "src") and not (value or "").startswith("#")):
                fail("html", f"{name}={value!r}")
            self.text.append(value or "")
        self.inside.append(tag)

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, text):
        if "script" not in self.inside and "style" not in self.inside:
            self.text.append(text)


def is_page(what, path):
    with open(path, encoding="utf-8", newline="") as file:
        content = file.read()
    page = Page()
    page.feed(content)
    seen(what, "".join(page.text))
    scripts = [e for e in page.elements if e[0] == "script"]
    if any(e[0] in ("img", "iframe", "object", "embed", "base", "form", "link") for e in page.elements) or any("src" in e for e in scripts):
        fail(what, "an element that no page has")
    if content.count("<script") != len(scripts) or content.count("</script") != len(scripts):
        fail(what, "a script that is ended by a name")
    if not any("<script>alert(1)</script>" in text for text in page.text):
        fail(what, "the names are not there")


def is_database(what, path):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    db.text_factory = bytes
    if db.execute("PRAGMA integrity_check").fetchall() != [(b"ok",)]:
        fail(what, "damaged")
    tables = [name.decode() for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in tables:
        for row in db.execute(f'SELECT * FROM "{table}"'):
            for value in row:
                if isinstance(value, bytes):
                    value.decode()      # the program's output must be valid text for every reader
    if not {"heaps", "lines"} & set(tables):
        fail(what, f"tables {tables}")


def texts_are_there(what, names):
    """The names must be unchanged, except for bytes that are not UTF-8."""
    if not any("<script>alert(1)</script>" in name for name in names) or not any("a\nb" in name for name in names):
        fail(what, "the names are not there")


def is_profile(what, path):
    with gzip.open(path) as file:
        profile = message(file.read())
    names = [text.decode() for text in profile[6]]
    if any(re.match("<.*>$", names[message(function)[2][0]]) for function in profile[5]):
        fail(what, "a name that pprof leaves out")
    texts_are_there(what, names)


def texts_of_packet(packet):
    for interned in packet[12]:
        yield from (name[2][0] for name in map(message, message(interned)[2]))
    for track in map(message, packet[60]):
        yield from track[2]
        yield from (text for process in map(message, track[3]) for text in process[2] + process[6])
        yield from (text for thread in map(message, track[4]) for text in thread[5])
    yield from (text for event in map(message, packet[11]) for text in event[23])


def is_trace(what, path):
    with open(path, "rb") as file:
        packets = [message(packet) for _, packet in fields(file.read())]
    texts_are_there(what, [text.decode() for packet in packets for text in texts_of_packet(packet)])


class NoCode(pickle.Unpickler):
    def find_class(self, module, name):
        fail("torch-snapshot", f"{module}.{name} is asked for")


def texts_in(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for inside in value.values() if isinstance(value, dict) else value:
            yield from texts_in(inside)


def is_snapshot(what, path):
    calls = {"GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "PERSID", "BINPERSID", "EXT1", "EXT2", "EXT4"}
    with open(path, "rb") as file:
        content = file.read()
    if calls & {op.name for op, _, _ in pickletools.genops(content)}:
        fail(what, "the pickle calls functions")
    texts_are_there(what, list(texts_in(NoCode(io.BytesIO(content)).load())))


def are_tables(what, folder):
    for top, folders, files in os.walk(folder):
        for name in folders + files:
            seen(what, name)
            if not re.fullmatch(r"[A-Za-z0-9_.=%-]+", name) or ".." in name:
                fail(what, f"a file {name!r}")
        for name in files:
            with open(os.path.join(top, name), "rb") as file:
                is_csv(what, file.read())


FILES = {"html": is_page, "sqlite": is_database, "junit": is_junit, "pprof": is_profile, "perfetto": is_trace, "torch-snapshot": is_snapshot}
STREAMS = {"text": is_text, "ascii": is_ascii, "color": is_color, "json": is_json, "csv": is_csv, "folded": is_folded, "message": is_text}
OPTIONS = {"ascii": ["--format=text"], "color": ["--format=text", "--color=always"], "message": []}


# ---- rows of the table

def logs_in(folder, count):
    place = os.path.join(folder, NAME)
    os.mkdir(place)
    logs = [os.path.join(place, f"{NAME}.{i}.zst") for i in range(count)]
    for log in logs:
        subprocess.run([MAKE, log], check=True)
    return logs


def with_options(arguments, *options):
    """Options follow the command's name, because the last argument may need a log as its value."""
    words = 2 if arguments[0] == "log" else 1
    return [*arguments[:words], *options, *arguments[words:]]


def write(arguments, logs, form, folder):
    """Runs a command that writes files, and checks them."""
    what = f"{arguments} {form}"
    if form == "tables":
        place = os.path.join(folder, "tables")
        report(*arguments, "--tables=" + place, *logs)
        are_tables(what, place)
    elif arguments[:2] == ["log", "digest"]:
        report(*arguments, *logs)
        is_database(what, logs[0] + ".digest")
    else:
        path = os.path.join(folder, "written")
        report(*with_options(arguments, "--junit" if form == "junit" else "-o", path), *logs)
        FILES[form](what, path)


def row(name, folder):
    arguments, count, formats = SUITE[name]
    logs = logs_in(folder, count)
    for form in formats:
        if (name in ABSENT and form not in EXPORTS) or (form == "tables" and not SQLITE):
            continue
        if form in FILES or form == "tables":
            write(arguments, logs, form, folder)
            continue
        options = OPTIONS.get(form, ["--format=" + form])
        done = report(*with_options(arguments, *options), *logs, locale="C" if form == "ascii" else "C.UTF-8")
        STREAMS[form](f"{name} {form}", done.stdout)
        (is_ascii if form == "ascii" else is_text)(f"{name} {form}, messages", done.stderr)


def untrusted_name_tests_cover_every_command(_):
    def commands_of(*words):
        listed = re.findall(r"^  ([a-z]+) ", subprocess.run([REPORT, *words, "--help"], stdout=subprocess.PIPE, check=True, text=True).stdout, re.M)
        return {" ".join([*words, c]) for c in listed if subprocess.run([REPORT, *words, c, "--help"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0}
    commands = (commands_of() | commands_of("log")) - {"log"}
    if (set(TABLE) ^ commands) - set(ABSENT):
        fail("commands", f"{sorted(set(TABLE) ^ commands)}")


def untrusted_name_tests_cover_every_format(folder):
    """The command refuses formats that its row does not list."""
    (log,) = logs_in(folder, 1)
    for name, (rest, count, formats) in TABLE.items():
        for form in set() if name in ABSENT else {"text", "json", "csv", "folded"} - set(formats):
            done = subprocess.run([REPORT, *name.split(), "--format", form, *rest, *[log] * count], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT)
            if done.returncode != 2:
                fail(f"{name} --format {form}", f"status {done.returncode}: a format that has no cell")


def untrusted_names_are_unchanged_in_json(folder):
    """The names are those of the log, not changed ones."""
    (log,) = logs_in(folder, 1)
    document = report("peaks", "--by", "range", "--format=json", log).stdout.decode()
    for text in texts():
        try:
            name = text.decode()
        except UnicodeDecodeError:
            continue
        if name and json.dumps(name) not in json.dumps(json.loads(document)):
            fail("peaks json", f"without {name!r}")


# ---- paths in a log are names, not instructions

def state(folder):
    """Returns the kind, length, content and modification time of each file in a folder."""
    found = {}
    for top, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(top, name)
            st = os.lstat(path)
            content = open(path, "rb").read() if stat.S_ISREG(st.st_mode) else b""
            found[path] = (st.st_mode, st.st_ino, st.st_mtime_ns if not stat.S_ISDIR(st.st_mode) else 0, content)
    return found


def untrusted_paths_in_a_log_are_not_opened(folder):
    """A log that names other files wherever it can. No command waits for them, writes to them or removes them."""
    there = os.path.join(folder, "there")
    os.mkdir(there)
    os.mkfifo(os.path.join(there, "fifo"))
    os.mkdir(os.path.join(there, "folder"))
    os.symlink("file", os.path.join(there, "link"))
    for name in ("file", "log.zst", "log.zst.journal"):
        with open(os.path.join(there, name), "w") as file:
            file.write("mine")
    before = state(there)
    for named in [*(os.path.join(there, name) for name in ("fifo", "folder", "link", "file", "log.zst", "log.zst.journal")), "/dev/zero", "../there/file"]:
        place = tempfile.mkdtemp(dir=folder)
        logs = [os.path.join(place, f"{i}.zst") for i in range(2)]
        for log in logs:
            subprocess.run([MAKE, log, named], check=True)
        for name, (arguments, count, formats) in SUITE.items():
            if name in ABSENT:
                continue
            options = ["-o", os.path.join(place, "written")] if formats[0] in FILES and name != "log digest" else []
            report(*with_options(arguments, *options), *logs[:count])
        if state(there) != before:
            fail(named, f"{set(state(there).items()) ^ set(before.items())}")


BESIDE = ["journal", "fold", "fold.tmp", "fold.thin", "digest", "digest.part", "symbols", "symbols.part", "perfmap", "perfmap.part", "recover"]


def lay(kind, path, there):
    """Creates something other than a regular file at a path where a log would have a file."""
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        os.mkdir(path)
    elif kind == "socket":
        socket.socket(socket.AF_UNIX).bind(path)
    else:
        os.symlink(os.path.join(there, kind) if kind in os.listdir(there) else kind, path)


def untrusted_special_files_next_to_a_log_do_no_harm(folder):
    """Other users may write to the folder. No command waits for their files, or follows their links to write."""
    there = os.path.join(folder, "there")
    os.mkdir(there)
    os.mkfifo(os.path.join(there, "pipe"))
    with open(os.path.join(there, "file"), "w") as file:
        file.write("mine")
    before = state(there)
    for kind in ("fifo", "folder", "socket", "pipe", "file", "/dev/zero"):
        place = tempfile.mkdtemp(dir=folder)
        logs = [os.path.join(place, f"{i}.zst") for i in range(2)]
        for log in logs:
            subprocess.run([MAKE, log], check=True)
            for ending in BESIDE:
                lay(kind, f"{log}.{ending}", there)
        lay(kind, os.path.join(place, "memprof.run"), there)
        for name, (arguments, count, formats) in SUITE.items():
            if name in ABSENT:
                continue
            options = ["-o", os.path.join(place, "written")] if formats[0] in FILES and name != "log digest" else []
            report(*with_options(arguments, *options), *logs[:count], statuses=(0, 1, 3, 4))
        if state(there) != before:
            fail(kind, f"{set(state(there).items()) ^ set(before.items())}")


def untrusted_names_are_harmless_in_launcher_messages(folder):
    """Tests names of a missing command, of a failing one, and of the folder of logs."""
    for number, text in enumerate(t for t in texts() if t and b"/" not in t):
        place = os.path.join(os.fsencode(folder), b"%d" % number)
        os.mkdir(place)
        os.symlink("/bin/false", os.path.join(place, b"run" + text))
        for arguments in ([b"x" + text], [b"run", b"--output=" + text, b"--", b"./absent" + text], [b"run", b"--output=" + text, b"--", b"./run" + text]):
            done = subprocess.run([os.environ["MEMPROF"], *arguments], cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT,
                                  env={**os.environ, "LC_ALL": "C.UTF-8"})
            if done.returncode == 0 or not done.stderr:
                fail(arguments, f"status {done.returncode}, {done.stderr!r}")
            is_text(arguments, done.stdout)
            is_text(arguments, done.stderr)
            if not all(line.startswith(b"memprof: ") for line in done.stderr.splitlines()):
                fail(arguments, f"a name ends a line: {done.stderr!r}")


OTHERS = [*([untrusted_names_are_harmless_in_launcher_messages] if "MEMPROF" in os.environ else []), untrusted_name_tests_cover_every_command,
          untrusted_name_tests_cover_every_format, untrusted_names_are_unchanged_in_json, untrusted_paths_in_a_log_are_not_opened,
          untrusted_special_files_next_to_a_log_do_no_harm]


def main():
    if sys.argv[1] == "--list":
        print(";".join([test.__name__ for test in OTHERS] + [name.replace(" ", "_") for name in SUITE]), end="")
        return
    with tempfile.TemporaryDirectory() as folder:
        for test in OTHERS:
            if test.__name__ == sys.argv[1]:
                return test(folder)
        row(next(name for name in SUITE if name.replace(" ", "_") == sys.argv[1]), folder)


if __name__ == "__main__":
    main()
