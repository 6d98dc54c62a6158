"""Finds and runs memprof-report, and turns its messages into errors and warnings."""
import json
import os
import re
import shutil
import subprocess
import sys
import warnings

from .version import __version__

WITH_REPORT = (0, 3, 4, 5)      # exit statuses with a report: success, an incomplete log, a broken or an unmatched limit
INCOMPLETE = 3


class MemprofError(Exception):
    """Raised if a report cannot be made. The message says what to do."""


class MemprofWarning(UserWarning):
    """A message that memprof-report printed with a report, such as which of several logs it chose."""


class IncompleteLogWarning(MemprofWarning):
    """A log misses events, so the figures are those of the events that it has."""


def find(name, variable):
    """Returns the path of memprof's program `name`: the value of the environment variable, else the program installed with
    this package, else the one on PATH."""
    path = os.environ.get(variable)
    if path:
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
        raise MemprofError(f"{variable}={path} is not a program: set it to the path of {name}, or unset it")
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in ("bin", "../../../../bin"):      # of PREFIX/lib/python3/dist-packages/memprof_report
        path = os.path.normpath(os.path.join(here, folder, name))
        if os.access(path, os.X_OK):
            return path
    path = shutil.which(name)
    if path:
        return path
    raise MemprofError(f"{name} is not installed: install memprof, add its folder to PATH, or set {variable} to the path of {name}")


def environment():
    """Returns the environment for memprof's programs, which are not recorded if this process is."""
    env = dict(os.environ)
    libraries = re.split("[ :]+", env.pop("LD_PRELOAD", ""))
    others = [path for path in libraries if path and not os.path.basename(path).startswith("libmemprof")]
    if others:
        env["LD_PRELOAD"] = ":".join(others)
    return env


def arguments(options):
    """Returns keyword arguments as options of memprof-report: by="stack" is --by=stack, from_="1s" is --from=1s."""
    result = []
    for key, value in options.items():
        option = "--" + key.rstrip("_").replace("_", "-")
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is True:
                result.append(option)
            elif one is not None and one is not False:
                result.append(f"{option}={one}")
    return result


def version(program):
    """Returns the version that memprof-report prints, or None."""
    done = subprocess.run([program, "--version"], env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    found = re.search(rb"\d+(\.\d+)+", done.stdout)
    return found[0].decode() if found else None


def other_version(program):
    """Returns a sentence that explains an error if memprof-report and this package have different versions, else ''."""
    found = version(program)
    if found == __version__:
        return ""
    return (f"\n{program} has version {found or 'unknown'} and memprof_report has version {__version__}: "
            "install both from one build, or set MEMPROF_REPORT to the memprof-report of that build")


def messages(errors):
    """Returns the messages on standard error without the program's name and without hints about --help."""
    lines = errors.decode("utf-8", "replace").splitlines()
    lines = [re.sub(r"^memprof-report[a-z ]*: ", "", line) for line in lines]
    for i, line in enumerate(lines):
        if line.startswith("Try `memprof-report"):
            return lines[:i]
    return [line for line in lines if line]


def warn(text, category):
    """Warns with the place in the user's code."""
    level, frame = 1, sys._getframe()
    while frame and os.path.dirname(frame.f_code.co_filename) == os.path.dirname(__file__):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def run(command, paths, options):
    """Runs a command of memprof-report and returns its standard output. A message with a report becomes a warning."""
    program = find("memprof-report", "MEMPROF_REPORT")
    words = [program, *command.split(), *arguments(options), "--", *map(os.fspath, paths)]
    try:
        done = subprocess.run(words, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise MemprofError(f"{program} cannot run: {error.strerror}; set MEMPROF_REPORT to the path of memprof-report") from error
    said = messages(done.stderr)
    if done.returncode not in WITH_REPORT:
        text = "; ".join(said) or f"{program} {command} ended with status {done.returncode}"
        raise MemprofError(text + (other_version(program) if done.returncode == 2 else ""))
    for line in said:
        warn(line, MemprofWarning)
    if done.returncode == INCOMPLETE:
        warn("a log is incomplete: figures are those of the events that it has; `memprof-report log verify LOG` shows the losses", IncompleteLogWarning)
    return done.stdout


def run_json(command, paths, options):
    """Returns the report as parsed JSON."""
    return json.loads(run(command, paths, {**options, "format": "json"}))


# ---- the commands that a wheel installs

def run_inside(name):
    """Becomes the program that is inside of this package."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", name)
    os.execv(path, [path, *sys.argv[1:]])


def run_memprof():
    run_inside("memprof")


def run_memprof_report():
    run_inside("memprof-report")
