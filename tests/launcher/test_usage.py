"""The manual of memprof-report has the usage and the options of each command as --help prints them. UPDATE=1 rewrites its synopsis.
Documents and programs use the present names of commands."""
import glob
import os
import re
import subprocess

import mp

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MANUAL = os.path.join(TREE, "docs", "man", "memprof-report.1")
SYNOPSIS = re.compile(r"(?<=^\.SH SYNOPSIS\n).*?(?=^\.SH )", re.M | re.S)


def help_of(*command):
    return subprocess.run([os.environ["MEMPROF_REPORT"], *command, "--help"], text=True, stdout=subprocess.PIPE, timeout=mp.TIMEOUT, check=True,
                          env=dict(os.environ, ARGP_HELP_FMT="rmargin=1000")).stdout


def commands(*parents):
    """Yields commands in the order of --help, with those of log at its place."""
    for command in re.findall(r"^  ((?!memprof-)[a-z-]+) ", help_of(*parents), re.M):
        if command == "log":
            yield from commands("log")
        else:
            yield [*parents, command]


def roff(usage, *command):
    """Returns 'memprof-report peaks [OPTION...] LOG|DIR...' as lines of the synopsis."""
    lines = [" ".join([".B memprof-report", *command])]
    for word in usage.removeprefix(" ".join(["memprof-report", *command])).split():
        if word.startswith("--"):
            lines.append(".B " + word.replace("-", "\\-"))
        else:
            macro = ".IR" if word[0].isupper() else ".RI"
            lines.append(f"{macro} " + " ".join(re.findall("[A-Z]+|[^A-Z]+", word)))
    return lines


def synopsis():
    every = []
    for command in [], *commands():
        usages = re.findall(r"^(?:Usage:|  or: ) (memprof-report .*)", help_of(*command), re.M)
        every += [roff(usage, *command) for usage in usages if "COMMAND" not in usage]
    return "\n.br\n".join("\n".join(lines) for lines in every) + "\n"


def manual():
    with open(MANUAL, encoding="utf-8") as f:
        return f.read()


def test_manual_has_the_usage_of_each_command():
    text, current = manual(), synopsis()
    if os.environ.get("UPDATE"):
        with open(MANUAL, "w", encoding="utf-8") as f:
            f.write(SYNOPSIS.sub(lambda _: current, text))
    else:
        mp.equal(SYNOPSIS.search(text)[0].splitlines(), current.splitlines(), "the synopsis; UPDATE=1 writes it again")


def test_manual_has_the_options_of_each_command():
    sections = dict(re.findall(r"^\.SH (.*)\n((?:(?!\.SH ).*\n)*)", manual(), re.M))
    options = {name: set(re.findall(r"\\-\\-[a-z\\-]+", text)) for name, text in sections.items()}
    shared = options["WHICH LOGS"] | options["OPTIONS OF EVERY REPORT"]
    for command in commands():
        own = {option.replace("-", "\\-") for option in re.findall(r"^ +(?:-., )?(--[a-z-]+)", help_of(*command), re.M)} - shared
        section = "OPTIONS OF " + " ".join(command).upper()
        mp.equal(sorted(own - options.get(section, set())), [], f"options that the manual does not have in {section}")


def test_examples_in_help_fit_on_their_lines():
    """A command that wraps cannot be copied."""
    for command in [], ["log"], *commands():
        text = subprocess.run([os.environ["MEMPROF_REPORT"], *command, "--help"], text=True, stdout=subprocess.PIPE, timeout=mp.TIMEOUT, check=True,
                              env={name: value for name, value in os.environ.items() if name != "ARGP_HELP_FMT"}).stdout
        examples = re.search(r"^Examples?:\n(.*?)(?=^$|\Z)", text, re.M | re.S)
        mp.check(examples and all(line.startswith("  ") for line in examples[1].splitlines()), f"{command}: {examples and examples[1]}")


def test_texts_and_programs_name_no_command_by_its_old_name():
    with open(os.path.join(TREE, "postproc", "cmd", "main.c"), encoding="utf-8") as f:
        old = re.findall(r'\{ "([a-z]+)", "[^"]*", true \}', f.read())
    mp.check("insights" in old, old)
    named = re.compile(rf"memprof(?:\\)?-report (?:{'|'.join(old)})\b")
    found = []
    for pattern in "*.md", "docs/**/*.*", "examples/**/*.*", "launcher/*.c", "preload/**/*.c", "postproc/**/*.[ch]", "viewer/src/*.js":
        for path in glob.glob(os.path.join(TREE, pattern), recursive=True):
            if os.path.basename(path) != "CHANGELOG.md" and not path.endswith(".png"):
                with open(path, encoding="utf-8") as f:
                    found += [f"{path}: {match[0]}" for match in named.finditer(f.read())]
    mp.equal(found, [], "old names of commands")


if __name__ == "__main__":
    mp.main()
