"""Stored names of a log are used if the program's file is not there. They are used only if the file is complete and fits the log and its build IDs.

test_symbolize.py TEST, with MEMPROF_REPORT, MAKE_OWN_LOG and MAKE_LOG set, and zstd on PATH."""
import gzip
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

from wire import message

REPORT = os.environ["MEMPROF_REPORT"]
TIMEOUT = 20


def check(good, *what):
    if not good:
        sys.exit(" ".join(str(w) for w in what))


# A file system that cannot create unnamed files, so a partial file exists during the write.
NAMED = {**os.environ, "LD_PRELOAD": os.environ["NO_TMPFILE"]}


def run(*words, status=0, env=None):
    done = subprocess.run([REPORT, *words], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT)
    check(done.returncode == status, words, "status", done.returncode, done.stderr)
    return done.stdout


class Recorded:
    """A log of a program, whose file can be moved away."""

    def __init__(self, folder, *words):
        self.program, self.log = os.path.join(folder, "program"), os.path.join(folder, "log.zst")
        self.symbols = self.log + ".symbols"
        shutil.copy(os.environ["MAKE_OWN_LOG"], self.program)
        subprocess.run([self.program, self.log, *words], check=True)

    def symbolized(self):
        run("log", "symbolize", self.log)
        return self

    def moved(self):
        os.rename(self.program, self.program + ".away")
        return self

    def text(self):
        return subprocess.run(["zstd", "-dcq", "--format=zstd", self.symbols], stdout=subprocess.PIPE, check=True).stdout.decode()

    def write(self, text, *options):
        with open(self.symbols + ".txt", "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        subprocess.run(["zstd", "-qf", "--rm", *options, self.symbols + ".txt", "-o", self.symbols], check=True)


def reports(log):
    peaks = json.loads(run("peaks", "--by", "stack", "--format", "json", log))
    return run("peaks", "--tree", log), run("peaks", "--tree", "--bottom-up", "--folded", log), run("leaks", log), peaks["logs"][0]["heaps"]


def without_names(log, *messages):
    text = run("peaks", "--tree", log)
    check("program+0x" in text and "load (" not in text, "names where there can be none:", text)
    for words in messages:
        check(words in text, "not said:", words, text)


def reports_are_the_same_without_the_program(folder):
    r = Recorded(folder)
    before = reports(r.log)
    check("load (make_own_log.c:86)" in before[0], "no names to begin with", before[0])
    r.symbolized().moved()
    check(reports(r.log) == before, "reports differ:", *reports(r.log)[:1])
    away = os.path.join(folder, "elsewhere")
    os.mkdir(away)
    for name in "log.zst", "log.zst.symbols":
        shutil.copy(os.path.join(folder, name), away)
    check(reports(os.path.join(away, "log.zst"))[3] == before[3], "the report on another machine")


def writes_the_documented_format(folder):
    r = Recorded(folder).symbolized()
    lines = [line.split("\t") for line in r.text().splitlines()]
    check(lines[0] == ["memprof symbols", "1"] and lines[1][0] == "log" and len(lines[1][1]) == 32, lines[:2])
    check(lines[2][0] == "object" and len(lines[2][1]) == 40 and lines[2][2] == r.program, lines[2])
    check(lines[-1] == ["end"], lines[-1])
    calls = [line for line in lines if line[0] == "call"]
    check(any(c[1] == "86" and c[2].endswith("/make_own_log.c") and c[3] == "load" for c in calls), calls)
    check(len([c for c in calls if c[3] == "load"]) == 2, "each address once:", calls)


def keeps_stored_names_if_the_program_is_gone(folder):
    r = Recorded(folder).symbolized().moved()
    before = r.text()
    run("log", "symbolize", r.log)
    check(r.text() == before, "names are lost:", r.text())


def stored_names_survive_stripping_of_the_program(folder):
    r = Recorded(folder)
    before = reports(r.log)
    r.symbolized()
    stored = r.text()
    for much in "-g", "-s":
        subprocess.run(["strip", much, r.program], check=True)
        check(reports(r.log) == before, "strip", much, *reports(r.log)[:1])
        check(r.symbolized().text() == stored, "strip", much, "loses names:", r.text())


def existing_program_overrides_stored_names(folder):
    r = Recorded(folder)
    before = reports(r.log)
    r.symbolized().write(re.sub(r"call\t\d+\t[^\t]*\t.*", "call\t7\tfalse.c\tfalse", r.text()))
    check(reports(r.log) == before, "names that are stored are believed:", *reports(r.log)[:1])


def pprof_export_separates_files_of_the_same_name(folder):
    r = Recorded(folder).symbolized()
    named = iter(range(1 << 20))
    r.write(re.sub(r"call\t.*", lambda _: f"call\t5\t/src/{next(named) % 2}/util.c\trun (old) (it)", r.text()))
    profile = message(gzip.decompress(subprocess.run([REPORT, "export", "--to=pprof", "-o", "-", r.moved().log], stdout=subprocess.PIPE, check=True, timeout=TIMEOUT).stdout))
    text = [t.decode() for t in profile[6]]
    functions = {(text[f[2][0]], text[f[4][0]]) for f in map(message, profile[5])}
    check({("run (old) (it)", f"/src/{i}/util.c") for i in (0, 1)} <= functions, functions)


def writes_no_file_without_names(folder):
    r = Recorded(folder).moved()
    check("no call has a name, so nothing was stored" in run("log", "symbolize", r.log), "a message that no call has a name")
    check(not os.path.exists(r.symbols), "a file without names")
    log = os.path.join(folder, "none.zst")
    subprocess.run([os.environ["MAKE_LOG"], "whole", log], check=True)
    check("no native call stacks in this log" in run("log", "symbolize", log), "a message that the log has no call stacks")
    check(run("log", "symbolize", "--quiet", log) == "", "--quiet prints nothing")


def gives_no_names_for_another_build(folder):
    r = Recorded(folder).symbolized()
    stored = r.text()
    subprocess.run([r.program, r.log, "other"], check=True)
    without_names(r.moved().log, "functions of these files have no names, because the files are not on this machine")
    r.write(re.sub(r"(?m)^object\t[0-9a-f]+", "object\t", stored))
    without_names(r.log)            # a file without a build ID may be any


def reports_and_ignores_a_damaged_file(folder):
    r = Recorded(folder).symbolized().moved()
    with open(r.symbols, "rb") as file:
        good = file.read()
    message = "log.zst.symbols is not used, because it is damaged"
    whole = run("peaks", "--tree", r.log)
    for cut in [*range(0, len(good), 7), len(good) - 1]:
        with open(r.symbols, "wb") as file:
            file.write(good[:cut])
        without_names(r.log, message)
    for at in range(len(good)):
        with open(r.symbols, "wb") as file:
            file.write(good[:at] + bytes([good[at] ^ 0x40]) + good[at + 1:])
        if run("peaks", "--tree", r.log) != whole:       # zstd ignores some bits, so the checksum of the content still fits
            without_names(r.log, message)
    for more in b"\0", good:
        with open(r.symbols, "wb") as file:
            file.write(good + more)
        without_names(r.log, message)


def treats_malformed_text_as_damage(folder):
    r = Recorded(folder).symbolized().moved()
    good = r.text()
    head = "".join(good.splitlines(True)[:2])
    bad = ["", "\n", "end\n", good[:-1], good[:-4], good + "end\n", good.replace("\tload", "", 1), good.replace("\tload", "\tload\tx", 1), good.replace("call\t86", "call\t-86", 1),
           good.replace("call\t86", "call\t99999999999999999999", 1), good.replace("at\t", "at\tx", 1), good.replace("at\t", "at\t-", 1), good.replace("memprof symbols", "memprof symbol", 1),
           good.replace("\t1\n", "\t0\n", 1), good.replace("\t1\n", "\tone\n", 1), good.replace("log\t", "log\tz", 1), head + "at\t12\nend\n", head + "call\t1\t\tf\nend\n",
           head + "object\tab\t/x\ncall\t1\t\tf\nend\n", head + 2 * "object\tab\t/x\n" + "end\n", head + "object\tab\t/x\n" + 2 * "at\t12\n" + "end\n", head + "strange\nend\n",
           good.replace("load", "lo\0ad", 1)]
    for text in bad:
        check(text != good, "the same")
        r.write(text)
        without_names(r.log, "is not used, because it is damaged")
    r.write(good, "--no-check")
    without_names(r.log, "is not used, because it is damaged")
    r.write(good)
    check("load (make_own_log.c:86)" in run("peaks", "--tree", r.log), "the good one is not used")


def accepts_addresses_in_any_order(folder):
    r = Recorded(folder).symbolized().moved()
    whole = run("peaks", "--tree", r.log)
    head, *places, end = re.split(r"(?m)^(?=at\t|end$)", r.text())
    check(len(places) > 2, "addresses:", places)
    r.write(head + "".join(reversed(places)) + end)
    check(run("peaks", "--tree", r.log) == whole, "names are lost:", run("peaks", "--tree", r.log))
    r.write(head + "".join(reversed(places)) + places[1] + end)
    without_names(r.log, "is not used, because it is damaged")


def many_objects_take_little_memory(folder):
    r = Recorded(folder).symbolized().moved()
    whole = run("peaks", "--tree", r.log)
    more = "".join(f"object\t\t/{i}\nat\t{i:x}\n" for i in range(200000))
    r.write(r.text().replace("end\n", more + "end\n"))
    check(run("--max-memory=80", "peaks", "--tree", r.log) == whole, "names are lost:", run("peaks", "--tree", r.log))


def ignores_files_of_another_log_or_a_newer_memprof(folder):
    r = Recorded(folder).symbolized().moved()
    good = r.text()
    number = re.search("log\t([0-9a-f]{32})", good)[1]
    r.write(good.replace(number, number[::-1].replace("0", "1")))
    without_names(r.log, "log.zst.symbols is not used, because it belongs to another log")
    newer = good.replace("memprof symbols\t1", "memprof symbols\t2") + "what nobody knows\n"
    r.write(newer)
    without_names(r.log, "log.zst.symbols is not used, because a newer memprof wrote it")
    os.rename(r.program + ".away", r.program)
    run("log", "symbolize", r.log, status=1)
    check(r.text() == newer, "a newer file was overwritten")


def reports_names_missing_from_an_older_file(folder):
    r = Recorded(folder).symbolized().moved()
    good = r.text()
    one = re.search("(?s)at\t[0-9a-f]+\n(call[^\n]*\n)*?call[^\n]*\tload\n(call[^\n]*\n)*", good)
    r.write(good.replace(one[0], ""))
    text = run("peaks", "--tree", r.log)
    check("tables (make_own_log.c:98)" in text and "program+0x" in text, "names:", text)
    check("log.zst.symbols lacks the names of some calls; memprof-report log symbolize adds them if it has room for them" in text, "not said:", text)


def invisible_characters_in_stored_names_are_escaped(folder):
    r = Recorded(folder).symbolized().moved()
    r.write(r.text().replace("\tload", "\tl\\t\\n\\\\\033[31m\u202e"))
    for form in "text", "json":
        text = run("peaks", "--tree", "--format", form, r.log)
        check("\033" not in text and "\u202e" not in text, form, text)
    check("l\\x09\\x0a\\" in run("peaks", "--tree", r.log), run("peaks", "--tree", r.log))


def doubling(levels):
    """A mangled name in which each argument is twice as long as the previous one."""
    number = lambda n: "" if n < 0 else (number(n // 36 - 1) if n >= 36 else "") + "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[n % 36]
    substituted = lambda n: "S" + (number(n - 1) if n else "") + "_"
    return "_Z1f1AIiiE" + "".join(f"S_I{substituted(n)}{substituted(n)}E" for n in range(1, levels + 1)) + "v"


def stored_names_are_not_demangled(folder):
    r = Recorded(folder).symbolized().moved()
    good = r.text()
    for name in doubling(40), "_ZN1A1bEv":
        r.write(good.replace("\tload", "\t" + name))
        check(f"{name} (make_own_log.c:86)" in run("peaks", "--tree", "--unfold", r.log), "not as it is stored:", name)


def stored_name_can_have_4096_bytes(folder):
    r = Recorded(folder).symbolized().moved()
    good = r.text()
    draw = random.Random(1)                     # random, because equal lines would compress too well
    for characters in "abcdefgh", ["\\t", "\\n", "\\\\"]:
        longest = "".join(draw.choices(characters, k=4096))
        for field in r"\tload\b", r"\t/[^\t]*make_own_log\.c":
            r.write(re.sub(field, lambda _: "\t" + longest, good))
            check("is damaged" not in run("peaks", "--tree", r.log), "a name of 4,096 bytes is refused")
            r.write(re.sub(field, lambda _: "\t" + longest + "n", good))
            without_names(r.log, "log.zst.symbols is not used, because it is damaged")


def stores_names_that_compress_well(folder):
    r = Recorded(folder).symbolized().moved()
    name = "".join(random.Random(1).choices("abcdefgh", k=4000))
    r.write(re.sub(r"(call\t.*\n)+", 60 * f"call\t7\ta.c\t{name}\n", r.text()), "-19")
    before = r.text()
    check(100 * os.path.getsize(r.symbols) < len(before), "they are not alike", os.path.getsize(r.symbols), len(before))
    check(name in run("peaks", "--tree", "--format", "json", r.log), "names are not used")
    check(r.symbolized().text() == before, "names are lost")


def refuses_a_decompression_bomb(folder):
    r = Recorded(folder).symbolized().moved()
    head = "".join(r.text().splitlines(True)[:3])
    with open(r.symbols + ".big", "w") as file:
        file.write(head + "at\t1\n" + "call\t1\t\tf\n" * (4 << 20) + "end\n")
    subprocess.run(["zstd", "-qf", "--rm", "-19", "--long=20", r.symbols + ".big", "-o", r.symbols], check=True)
    check(os.path.getsize(r.symbols) < 100000, "it is no bomb", os.path.getsize(r.symbols))
    without_names(r.log, "is not used, because it is damaged")


def leaves_special_files_alone(folder):
    r = Recorded(folder)
    os.mkfifo(r.symbols + ".part")
    run("log", "symbolize", r.log, status=1, env=NAMED)
    os.unlink(r.symbols + ".part")
    os.symlink(r.program, r.symbols + ".part")
    run("log", "symbolize", r.log, status=1, env=NAMED)
    check(os.path.getsize(r.program) > 1000, "the target of the link is unchanged")
    os.unlink(r.symbols + ".part")
    with open(r.symbols + ".part", "w") as file:
        file.write("left by one that was killed")
    r.symbolized()
    check(not os.path.exists(r.symbols + ".part"), "the part is left")
    r.moved()
    os.unlink(r.symbols)
    os.mkfifo(r.symbols)
    without_names(r.log, "is not used, because it cannot be read")


def ignores_a_file_of_another_user(folder):
    if os.geteuid() != 0:
        return                                  # only root can give a file to another user
    r = Recorded(folder).symbolized().moved()
    os.chown(r.symbols, 4242, -1)
    without_names(r.log, "is not used, because it belongs to neither the log's owner, nor you, nor root")
    os.chown(r.log, 4242, -1)
    check("load (make_own_log.c:86)" in run("peaks", "--tree", r.log), "the log's owner is not believed")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        globals()[sys.argv[1]](place)
