#!/usr/bin/env python3
"""Checks that the tests notice mistakes. Makes mutants of files in format and replay: copies with one small mistake each, chosen by a
seed. Each is compiled with UBSan and linked into tests, in rounds: its nearest unit tests, then memprof-report and its cases, then all
unit tests of format or replay. A failing test kills the mutant.
usage: scripts/mutate.py [--seed N] [--count N] [--skip N] [--only PLACE] [--rounds N] [--sanitize LIST] [--list | --build]
Defaults of N: 1, 100, 0 and 3. PLACE: only mutants of that folder, FILE or FILE:LINE. LIST: undefined (address,undefined also finds leaks).
--list: prints the mutants. --build: builds the programs of the first round and keeps them.
All files are in build/mutate, and the tree is not changed. A mutant that does not compile, or compiles to the same code, is skipped.
scripts/mutants.txt has mutants that no test can distinguish from the original, each with the reason. They run in the first round only.
Exit status: 0: all were killed or are listed; 1: some survived."""
import argparse
import concurrent.futures
import glob
import hashlib
import itertools
import json
import os
import random
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.dirname(os.path.abspath(__file__)) + "/..")
BUILD = os.path.join(ROOT, "build/mutate")
KNOWN = os.path.join(ROOT, "scripts/mutants.txt")
FOLDERS = {"format/": "libmpf_format.a", "postproc/replay/": "libmpr_replay.a"}
OPTIONS = ("-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O1", "-DMEMPROF_WITHOUT=cuda;jemalloc;node", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
           *(("-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld",) if shutil.which("ld.lld") else ()))
UNIT = (r"unit_format_.*|test_(replay(_.*)?|levels|excerpts|large|blocks|gpu_.*|nvtx_heaps|sites|traceme|alloc_free_matrix|lifetime_histogram|history|stream|follow|breakdown"
        r"|readings|survivors|projection|insights_.*|repeats|thin(_random)?|input|ahead|lanes)")
PROGRAMS = ("memprof-report", "make_log", "make_gpu_log", "make_stack_log", "make_own_log")
# the unit tests of a file by the beginning of its name; the first match is used
NEAREST = (("format/", "unit_format_.*"), ("postproc/replay/gpu", "test_gpu_.*"),
           ("postproc/replay/backward", "test_gpu_.*"),
           ("postproc/replay/estimates", "test_sites|test_gpu_owners"), ("postproc/replay/counted", "test_history"),
           ("postproc/replay/ranges", "test_traceme|test_replay(_.*)?"),
           *((f"postproc/replay/{name}", f"test_{name}") for name in ("blocks", "levels", "excerpts", "large", "alloc_free_matrix", "lifetime_histogram", "sites", "nvtx_heaps",
                                                                           "survivors", "projection")),
           ("", "test_replay(_.*)?|test_gpu_random"))
LIMIT = 60                      # seconds; a mutant may run forever
MEMORY = 8 << 30                # bytes of memory that it may use


# ---- mistakes


def swapped(pairs):
    """Finds operators with blanks around them, as all binary ones have, and their replacements."""
    both = {**pairs, **{new: old for old, new in pairs.items()}}
    pattern = re.compile(r"(?<= )(" + "|".join(sorted(map(re.escape, both), key=len, reverse=True)) + r")(?= )")
    return lambda line: [(m.start(), m.end(), both[m[0]]) for m in pattern.finditer(line)]


def constants(line):
    """Increments numbers."""
    return [(m.start(), m.end(), str(int(m[0]) + 1)) for m in re.finditer(r"(?<![\w.'])(0|[1-9]\d*)(?![\w.'])", line)]


def statements(line):
    """Deletes a statement of one line that has an effect."""
    m = re.fullmatch(r"( +)((?!return|goto|break|continue|case|default|else|const|struct|static|enum|union)[\w*+(][^;{}]*);", line)
    is_declaration = m and re.match(r"[\w ]+[ *]+\w+( = |;|\[|,|$)", m[2]) and not re.match(r"[\w.>\[\]-]+ = ", m[2])
    return [(m.start(2), m.end(2), "")] if m and not is_declaration else []


def conditions(line):
    """Negates a condition. A zero byte marks the original text."""
    found = []
    for m in re.finditer(r"\b(if|while) \(", line):
        depth, end = 1, m.end()
        while depth and end < len(line):
            depth += {"(": 1, ")": -1}.get(line[end], 0)
            end += 1
        if not depth:
            found.append((m.end(), end - 1, "!(\0)"))
    return found


OPERATORS = {
    "comparison": swapped({"<": "<=", ">": ">=", "==": "!="}),
    "arithmetic": swapped({"+": "-", "+=": "-=", "*": "/", "<<": ">>", "|": "&", "&&": "||"}),
    "constant": constants,
    "statement": statements,
    "condition": conditions,
}


def code_of(text):
    """Returns the text with blanks for comments, strings, directives and everything outside of functions."""
    def blank(part):
        return re.sub(r"[^\n]", " ", part)
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|(?m:^[ \t]*#(?:\\\n|[^\n])*)', lambda m: blank(m[0]), text, flags=re.S)
    functions = re.split(r"((?m:^)\{\n.*?\n\}|(?<=\)) \{ [^\n]* \}(?=\n))", text, flags=re.S)
    return "".join(part if i % 2 else blank(part) for i, part in enumerate(functions))


class Mutant:
    def __init__(self, path, lines, number, operator, start, end, new):
        self.path, self.lines, self.number, self.operator = path, lines, number, operator
        self.line = lines[number - 1]
        self.changed = self.line[:start] + new.replace("\0", self.line[start:end]) + self.line[end:]
        self.is_gone = not new

    def text(self):
        return "\n".join([*self.lines[:self.number - 1], self.changed, *self.lines[self.number:]])

    def what(self):
        """Returns the name that scripts/mutants.txt uses. It has no line number, because lines move."""
        return f"{self.path}: {self.operator}: {'without ' + self.line.strip() if self.is_gone else self.changed.strip()}"

    def __str__(self):
        return self.what().replace(":", f":{self.number}:", 1)

    def is_of(self, place):
        return f"{self.path}:{self.number}" == place if ":" in place else self.path.startswith(place)


def mutants_of(path):
    with open(os.path.join(ROOT, path)) as f:
        text = f.read()
    lines, code = text.split("\n"), code_of(text).split("\n")
    return [Mutant(path, lines, number, name, *place) for number, line in enumerate(code, 1) for name, find in OPERATORS.items() for place in find(line)]


def tracked(*patterns):
    names = subprocess.run(["git", "ls-files", "-z", "--", *patterns], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout.split("\0")
    return [name for name in names if os.path.isfile(os.path.join(ROOT, name))]


def in_turn(seed):
    """Returns all mutants in the order of the seed, taking one from each folder and of each kind in turn."""
    chance, queues = random.Random(seed), []
    every = [m for path in tracked(*(f"{folder}*.c" for folder in FOLDERS)) for m in mutants_of(path)]
    for folder in FOLDERS:
        for name in OPERATORS:
            queue = [m for m in every if m.path.startswith(folder) and m.operator == name]
            chance.shuffle(queue)
            queues.append(queue)
    while any(queues):
        yield from (queue.pop() for queue in queues if queue)


# ---- compiling and running


def ran(command, cwd=ROOT, limit=LIMIT, memory=MEMORY):
    """Runs a command and returns whether it succeeded, and its output. All of its processes are ended with its
    session."""
    process = subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               start_new_session=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory)))
    try:
        out, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        out = "no end"
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        pass
    process.wait()
    return process.returncode == 0 and out != "no end", out


def must(*command):
    done, out = ran(command, limit=None, memory=resource.RLIM_INFINITY)
    if not done:
        sys.exit(f"mutate: {shlex.join(command)}\n{out[-3000:]}")
    return out


class Built:
    """The unchanged tree, and the commands that compile its files and link its programs."""

    def __init__(self, sanitizers):
        must("cmake", "-S", ROOT, "-B", BUILD, "-G", "Unix Makefiles", *OPTIONS, f"-DMEMPROF_SANITIZE={sanitizers}")
        self.links = {os.path.basename(os.path.dirname(path))[:-len(".dir")]: path for path in glob.glob(BUILD + "/**/link.txt", recursive=True)}
        self.memory = resource.RLIM_INFINITY if "address" in sanitizers else MEMORY
        self.units, self.proven = self.named(UNIT), set()
        must("cmake", "--build", BUILD, f"-j{os.cpu_count()}", "--target", *self.units, *PROGRAMS)
        with open(os.path.join(BUILD, "compile_commands.json")) as f:
            self.compilers = {os.path.relpath(e["file"], ROOT): shlex.split(e["command"]) for e in json.load(f)}

    def named(self, pattern):
        return sorted(name for name in self.links if re.fullmatch(pattern, name))

    def nearest(self, path):
        return self.named(next(pattern for place, pattern in NEAREST if path.startswith(place)))

    def units_with(self, path):
        library = next(library for folder, library in FOLDERS.items() if path.startswith(folder))
        return [name for name in self.units if library in self.link_of(name)]

    def link_of(self, name):
        with open(self.links[name]) as f:
            return f.read()

    def program(self, name):
        folder = os.path.dirname(os.path.dirname(os.path.dirname(self.links[name])))
        return os.path.join(folder, name)

    def passes(self, command):
        return ran(command, cwd=BUILD, memory=self.memory)[0]

    def prove(self, name, command):
        """A test that fails with a mutant must pass without it. This is checked at once."""
        if name not in self.proven and not self.passes(command):
            sys.exit(f"mutate: {name} fails without a mistake")
        self.proven.add(name)
        return True

    def compile(self, path, source, target, *options):
        """Compiles a mutant like the original file."""
        command = self.compilers[path]
        kept = command[:command.index("-o")]
        return ran([*kept, f"-I{ROOT}/{os.path.dirname(path)}", *options, "-w", "-o", target, "-c", source], limit=None)[0]

    def link(self, name, part, folder):
        """Links a program with the mutant instead of the original object."""
        command = shlex.split(self.link_of(name))
        at = command.index("-o")
        command[at:at + 2] = [part, "-o", os.path.join(folder, name)]
        done, out = ran(command, cwd=os.path.dirname(self.program(name)), limit=None)
        if not done:
            sys.exit(f"mutate: {name} cannot be linked:\n{out[-3000:]}")


def cases():
    """Returns the cases that need nothing more than the build has, which has no page."""
    def is_runnable(path):
        with open(path) as f:
            return not re.search("^# needs .*page", f.read(), re.M)
    return sorted(filter(is_runnable, glob.glob(ROOT + "/tests/postproc/cases/*.txt")))


class Try:
    """The programs of one mutant, in a separate folder."""

    def __init__(self, built, mutant):
        self.built, self.mutant = built, mutant
        self.folder = os.path.join(BUILD, "mutants", hashlib.sha256(f"{mutant}{mutant.text()}".encode()).hexdigest()[:16])
        self.part, self.source = (os.path.join(self.folder, name) for name in ("part.o", os.path.basename(mutant.path)))

    def compiles(self):
        os.makedirs(self.folder, exist_ok=True)
        if os.path.exists(self.part):
            return True
        with open(self.source, "w") as f:
            f.write(self.mutant.text())
        return self.built.compile(self.mutant.path, self.source, self.part)

    def own(self, name):
        """Returns the program with the mutant, linked again if the test is newer."""
        path = os.path.join(self.folder, name)
        if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(self.built.program(name)):
            self.built.link(name, self.part, self.folder)
        return path

    def is_same(self):
        """Returns true if an optimising compiler makes the same code of it."""
        with tempfile.TemporaryDirectory() as place:
            texts = []
            for source in (os.path.join(ROOT, self.mutant.path), self.source):
                text = os.path.join(place, "text")
                self.built.compile(self.mutant.path, source, text, "-fno-sanitize=all", "-g0", "-O2", "-S")
                with open(text) as f:
                    texts.append(re.sub(r"\.file.*", "", f.read()))
        return texts[0] == texts[1]

    def fails(self, name):
        return not self.built.passes([self.own(name)]) and self.built.prove(name, [self.built.program(name)])

    def first_unit(self, names):
        """Returns the first test that fails, or ""."""
        return next((name for name in names if self.fails(name)), "")

    def first_case(self, cases):
        is_own = {name: name == PROGRAMS[0] or self.mutant.path.startswith("format/") for name in PROGRAMS}
        programs = [self.own(name) if is_own[name] else self.built.program(name) for name in PROGRAMS]

        def fails(case):
            test = [ROOT + "/tests/postproc/run_case.sh", case]
            fails = not self.built.passes([*test, *programs]) and self.built.prove(case, [*test, *map(self.built.program, PROGRAMS)])
            return os.path.basename(case)[:-len(".txt")] if fails else ""
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for at in range(0, len(cases), 2 * os.cpu_count()):
                failed = [name for name in pool.map(fails, cases[at:at + 2 * os.cpu_count()]) if name]
                if failed:
                    return "report_" + failed[0]
        return ""

    def killer(self, number):
        """Returns the test of this round that fails, or ""."""
        if number == 1:
            return self.first_case(cases())
        return self.first_unit(self.built.units_with(self.mutant.path) if number else self.built.nearest(self.mutant.path))


def known():
    """Returns {mutant: reason}. The file has a line per mutant, followed by the indented reason."""
    with open(KNOWN) as f:
        lines = [line.rstrip("\n") for line in f if not line.startswith("#")]
    return {line: reason.strip() for line, reason in zip(lines, lines[1:]) if line and line[0] != " "}


def options():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    for name, default in (("--seed", 1), ("--count", 100), ("--skip", 0), ("--rounds", 3)):
        parser.add_argument(name, type=int, default=default)
    parser.add_argument("--only", default="")
    parser.add_argument("--sanitize", default="undefined")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--build", action="store_true")
    return parser.parse_args()


def chosen_of(o):
    return itertools.islice((m for m in in_turn(o.seed) if m.is_of(o.only)), o.skip, None)


def build(built, o):
    """Builds everything of the first round that can be built in advance."""
    tries = (Try(built, mutant) for mutant in itertools.islice(chosen_of(o), o.count))
    for t in tries:
        if t.compiles():
            for name in built.nearest(t.mutant.path):
                t.own(name)


def first_round(built, o):
    """Yields the mutants that survived the first rounds."""
    count = 0
    for mutant in chosen_of(o):
        if count == o.count:
            return
        t = Try(built, mutant)
        killer = t.killer(0) if t.compiles() else None
        if killer is None or not killer and t.is_same():
            continue
        count += 1
        if killer:
            print(f"{mutant}    killed by {killer}", flush=True)
        else:
            yield t


def survivors(tries, rounds):
    for number in range(1, rounds):
        left = []
        for t in tries:
            killer = t.killer(number)
            if killer:
                print(f"{t.mutant}    killed by {killer}", flush=True)
            else:
                left.append(t)
        tries = left
    return tries


def main():
    o = options()
    if o.list:
        print(*itertools.islice(chosen_of(o), o.count), sep="\n")
        return 0
    built, reasons = Built(o.sanitize), known()
    if o.build:
        build(built, o)
        return 0
    left = list(first_round(built, o))
    same = [t.mutant for t in left if t.mutant.what() in reasons]
    left = survivors([t for t in left if t.mutant.what() not in reasons], o.rounds)
    for mutant in same:
        print(f"{mutant}    the same: {reasons[mutant.what()]}")
    for t in left:
        print(f"{t.mutant}    SURVIVED")
    print(f"{len(same)} are the same, {len(left)} survived")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
