"""Completion for bash and zsh offers exactly the options and commands of the programs."""
import os
import re
import shutil
import subprocess

import mp

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FILE = os.path.join(ROOT, "completions", "memprof.bash")
ZSH_FILE = os.path.join(ROOT, "completions", "_memprof")
# Replaces zsh's own completion and prints what would be offered.
ZSH = r"""
compadd() { while [[ $1 != -- ]]; do shift; done; shift; local a; for a; do [[ $a == ${PREFIX}* ]] && print -r -- $a; done }
compset() { PREFIX=${PREFIX#*=} }
_files() { print FILES }
_command_names() { print COMMANDS }
_normal() { print -r -- THEIRS $words[1] $CURRENT }
file=$1; shift
words=("$@"); CURRENT=$#; PREFIX=$words[CURRENT]
source $file
"""


def offered(program, *words):
    """Returns what bash offers for the last word of a command. The program is found by its path."""
    if not shutil.which("bash"):
        raise mp.Skip("bash is not installed")
    function = "_memprof" if program == "MEMPROF" else "_memprof_report"
    code = f'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); {function} "$1" 2>&1; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", code, "bash", FILE, os.environ[program], *words], text=True, stdout=subprocess.PIPE,
                          cwd=mp.folder, timeout=mp.TIMEOUT, check=True)
    return sorted(done.stdout.split())


def offered_by_zsh(program, *words):
    if not shutil.which("zsh"):
        raise mp.Skip("zsh is not installed")
    done = subprocess.run(["zsh", "-fc", ZSH, "zsh", ZSH_FILE, os.environ[program], *words], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, cwd=mp.folder, timeout=mp.TIMEOUT)
    return sorted(done.stdout.split())


def taken(program, *command):
    """Returns the long options that --usage lists, with = if they have a value."""
    usage = subprocess.run([os.environ[program], *command, "--usage"], text=True, stdout=subprocess.PIPE, timeout=mp.TIMEOUT, check=True)
    return sorted(re.findall(r"\[(--[a-z-]+=?)", usage.stdout))


def tables():
    """Returns the commands of memprof-report, and those of its command log."""
    with open(os.path.join(ROOT, "postproc", "cmd", "main.c")) as f:
        return [sorted(re.findall(r'\{ "([a-z-]+)", (?:mpr_cmd_|run_log)', table)) for table in f.read().split("log_commands[]")[:2]]


def commands():
    return tables()[0]


def all_commands():
    """Returns the commands as words of a command line."""
    first, of_log = tables()
    return [[command] for command in first] + [["log", command] for command in of_log]


def test_bash_completes_commands():
    mp.check("peaks" in commands(), commands())
    mp.equal(offered("MEMPROF_REPORT", ""), commands(), "commands of memprof-report")
    mp.equal(offered("MEMPROF_REPORT", "-m", "100", "ti"), ["timeline"], "commands that begin with ti")
    mp.equal(offered("MEMPROF_REPORT", "log", ""), tables()[1], "commands of log")
    mp.equal(offered("MEMPROF_REPORT", "-m", "100", "log", "v"), ["verify"], "commands of log that begin with v")
    mp.equal(offered("MEMPROF", ""), ["attach", "detach", "help", "run", "status"], "commands of memprof")


def test_bash_completes_options():
    mp.equal(offered("MEMPROF_REPORT", "--"), taken("MEMPROF_REPORT"), "options of memprof-report")
    for command in all_commands():
        options = taken("MEMPROF_REPORT", *command)
        mp.check("--help" in options, f"options of {command}: {options}")
        mp.equal(offered("MEMPROF_REPORT", *command, *([] if command == ["log"] else ["a.zst"]), "--"), options, f"options of {command}")
    mp.equal(offered("MEMPROF", "--"), taken("MEMPROF"), "options of memprof")
    mp.equal(offered("MEMPROF", "run", "--"), taken("MEMPROF", "run"), "options of memprof run")
    mp.equal(offered("MEMPROF", "run", "-o", "logs", "--l"), ["--level="], "options that begin with --l")


def test_bash_completes_option_values_that_the_help_lists():
    mp.equal(offered("MEMPROF", "run", "--stacks", "=", ""), ["all", "large", "off", "sample"], "values of --stacks")
    mp.equal(offered("MEMPROF", "run", "--stacks", "="), ["all", "large", "off", "sample"], "values of --stacks, without an empty word")
    mp.equal(offered("MEMPROF", "run", "-q", "--torch-ranges", "=", "o"), ["off", "on", "ops"], "values that begin with o")
    groups = ["auto", "comm", "graph", "heap", "library", "python", "range", "size", "stack", "thread"]
    mp.equal(offered("MEMPROF_REPORT", "peaks", "--by", "=", ""), groups, "values of --by")
    mp.equal(offered("MEMPROF_REPORT", "leaks", "--format", "=", ""), ["csv", "folded", "json", "text"], "values of --format")
    mp.equal(offered("MEMPROF", "run", "--s.*", "=", ""), [], "words for text that is no option name")


def test_bash_completes_other_words_as_files():
    """Values, logs and the arguments of the recorded command are files, or completed by that command's own
    completion."""
    for words in (("peaks", ""), ("peaks", "--output", "=", ""), ("peaks", "--output", "="), ("peaks", "-o", "-"), ("log", "info", "")):
        mp.equal(offered("MEMPROF_REPORT", *words), [], f"offered for {words}")
    for words in (("run", "--", "cat", "--"), ("run", "-q", "cat", "--l"), ("run", "--level", "=", ""), ("help", "")):
        mp.equal(offered("MEMPROF", *words), [], f"offered for {words}")
    mp.check("cat" in offered("MEMPROF", "run", "--", "ca"), "the command that is recorded")


def test_zsh_completes_commands_and_options():
    mp.equal(offered_by_zsh("MEMPROF_REPORT", ""), ["FILES", *commands()], "a log, or a command of memprof-report")
    mp.equal(offered_by_zsh("MEMPROF_REPORT", "-m", "100", "ti"), ["FILES", "timeline"], "commands that begin with ti")
    mp.equal(offered_by_zsh("MEMPROF", ""), ["attach", "detach", "help", "run", "status"], "commands of memprof")
    mp.equal(offered_by_zsh("MEMPROF_REPORT", "--"), taken("MEMPROF_REPORT"), "options of memprof-report")
    mp.equal(offered_by_zsh("MEMPROF_REPORT", "log", ""), tables()[1], "commands of log")
    for command in all_commands():
        mp.equal(offered_by_zsh("MEMPROF_REPORT", *command, *([] if command == ["log"] else ["a.zst"]), "--"), taken("MEMPROF_REPORT", *command), f"options of {command}")
    mp.equal(offered_by_zsh("MEMPROF", "run", "--"), taken("MEMPROF", "run"), "options of memprof run")


def test_zsh_completes_values_files_and_the_command():
    mp.equal(offered_by_zsh("MEMPROF", "run", "--stacks="), ["all", "large", "off", "sample"], "values of --stacks")
    mp.equal(offered_by_zsh("MEMPROF", "run", "-q", "--torch-ranges=o"), ["off", "on", "ops"], "values that begin with o")
    for words in (("peaks", ""), ("peaks", "--output="), ("peaks", "-o", ""), ("peaks", "--s.*="), ("log", "info", "")):
        mp.equal(offered_by_zsh("MEMPROF_REPORT", *words), ["FILES"], f"offered for {words}")
    mp.equal(offered_by_zsh("MEMPROF", "run", "-o", "logs", ""), ["COMMANDS"], "words for the program")
    mp.equal(offered_by_zsh("MEMPROF", "run", "-q", "--", "cat", "--l"), ["2", "THEIRS", "cat"], "words for the program's options")
    mp.equal(offered_by_zsh("MEMPROF", "help", ""), [], "behind help")


if __name__ == "__main__":
    mp.main()
