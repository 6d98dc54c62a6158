"""The cell magic %%memprof of IPython and Jupyter."""
import html
import os
import shlex
import signal
import subprocess
import sys
import tempfile

from IPython.core.error import UsageError
from IPython.core.magic import Magics as Base
from IPython.core.magic import cell_magic, magics_class
from IPython.display import display

from . import program
from .reports import Reports


class Summary:
    """The summary of a log, as text and as HTML. page: an HTML page to show below it, or None."""

    def __init__(self, text, page=None):
        self.text, self.page = text, page

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        frame = self.page and f'<iframe srcdoc="{html.escape(self.page)}" style="width: 100%; height: 720px; border: 0"></iframe>'
        return f"<pre>{html.escape(self.text)}</pre>{frame or ''}"


def run(words, env):
    """Runs a program, prints its output while it runs, and returns its exit status. An interrupt goes to the program."""
    with subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as process:
        while True:
            try:
                for line in process.stdout:
                    print(line, end="")
                return process.wait()
            except KeyboardInterrupt:
                process.send_signal(signal.SIGINT)


@magics_class
class Magics(Base):
    @cell_magic
    def memprof(self, line, cell):
        """%%memprof [--page] [OPTION...]

        Runs the cell in a new Python process under `memprof run`, and shows the summary of its memory. The process does
        not have the variables of the notebook. --page also shows the HTML page. Other options are those of `memprof run`,
        such as --stacks=all. The result is the log, as memprof_report.open returns it:

            log = _
            log.peaks()"""
        options = shlex.split(line)
        page = "--page" in options
        if any(option.startswith(("-o", "--output")) for option in options):
            raise UsageError("%%memprof chooses the folder of the log: leave out --output, and copy the log from the result's `paths`")
        place = tempfile.TemporaryDirectory(prefix="memprof.")
        script, logs = os.path.join(place.name, "cell.py"), os.path.join(place.name, "logs")
        with open(script, "w", encoding="utf-8") as file:
            file.write(cell)
        words = [program.find("memprof", "MEMPROF"), "run", "--quiet", "--output", logs, *[word for word in options if word != "--page"],
                 "--", sys.executable, script]
        env = program.environment()
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [os.getcwd(), env.get("PYTHONPATH")]))
        status = run(words, env)
        if status:
            print(f"the cell ended with status {status}", file=sys.stderr)
        if not os.path.isdir(logs):
            return None
        log = Reports([logs])
        log.place = place      # removes the logs together with this object
        display(Summary(log.text(), self.read(log.page(os.path.join(place.name, "page.html"))) if page else None))
        return log

    @staticmethod
    def read(path):
        with open(path, encoding="utf-8") as file:
            return file.read()
