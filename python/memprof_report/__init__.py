"""memprof's reports in Python: DataFrames of a log, ranges of a program, a magic of IPython, and a plugin of pytest.

    import memprof_report
    log = memprof_report.open("memprof.python3.4242")
    log.peaks(by="stack").head()

The package runs memprof-report and analyses nothing itself. Its methods and their columns: docs/python.md."""
from .measurement import measure
from .program import IncompleteLogWarning, MemprofError, MemprofWarning
from .ranges import range, recorded, snapshot
from .reports import Reports
from .version import __version__

__all__ = ["IncompleteLogWarning", "MemprofError", "MemprofWarning", "Reports", "measure", "open", "range", "recorded", "snapshot"]


def open(*paths, pid=None, rank=None, run=None, pandas=None):
    """Returns the Reports on logs or on directories with logs.

    pid, rank, run: only the logs of this process, rank or run.
    pandas: True for DataFrames, False for lists of dicts, None for DataFrames if pandas can be imported."""
    return Reports(paths, pid=pid, rank=rank, run=run, pandas=pandas)


def load_ipython_extension(shell):
    """Called by %load_ext memprof_report."""
    from .ipython import Magics
    shell.register_magics(Magics)
