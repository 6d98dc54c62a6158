"""Reports as tables. Each is a list in the JSON of a command of memprof-report, or rows of its SQLite database."""
import contextlib
import importlib
import itertools
import numbers
import os
import tempfile

from . import program
from .program import MemprofError

# Each method of Reports: the command, the list in its JSON (memprof-report(1), JSON), and the columns of an empty result.
LISTS = {
    "summary": ("summary", "heaps", "heap peak_bytes peak_time_ns end_bytes blocks_at_peak"),
    "findings": ("summary --all", "findings", "finding where saves_at_most_bytes what change report numbers"),
    "devices": ("summary", "devices.parts", "device part bytes"),
    "processes": ("processes", "logs", "path complete incomplete host pid ppid rank command start ended"),
    "heaps": ("peaks", "logs.heaps", "log heap peak_bytes peak_time_ns end_bytes blocks_at_peak end_blocks allocations frees failures"),
    "peaks": ("peaks", "logs.heaps.ranges", "log heap path bytes_at_peak blocks_at_peak own_peak_bytes allocations end_bytes inherited_bytes_at_peak"),
    "leaks": ("leaks", "heaps.growing|may_grow|levelled_off", "heap list path bytes blocks grown_bytes grown_blocks estimated"),
    "live": ("leaks", "heaps.live", "heap path bytes blocks grown_bytes grown_blocks estimated"),
    "steps": ("steps", "heaps.instances", "heap number instances name thread begin_ns end_ns unended peak_bytes peak_time_ns peak_number begin_bytes "
              "kept_bytes end_bytes allocations peak_stands_out kept_stands_out"),
    "segments": ("segments", "devices.segments", "device address state pool capture expandable made_ns bytes live_bytes free_bytes releasable_bytes "
                 "largest_hole_bytes blocks"),
    "pins": ("segments", "devices.pins", "device path free_bytes segments blocks bytes oldest_ns"),
    "timeline": ("timeline", "heaps.spans", "heap start_ns time_of_max_ns max_bytes min_bytes end_bytes allocations frees"),
    "bands": ("timeline", "heaps.bands", "heap path everything_else start_ns time_of_max_ns bytes_at_max"),
    "temporary": ("temporary", "heaps.rows", "heap path temporary_blocks temporary_bytes blocks bytes freed_blocks median_life_about_ns"),
    "breakdown": ("breakdown", "heaps.roles", "heap role rule bytes blocks oldest_ns newest_ns"),
    "graphs": ("graphs", "graphs", "time_ns path thread burst capture pool segment_bytes block_bytes instantiated device nodes executable_bytes "
               "first_launch_bytes bytes alive_at_end"),
}
SCHEMAS = {"summary --all": "memprof.insights/1"}      # of a command NAME otherwise: memprof.NAME/1
# The columns that a row has of the objects around its list: the name of a list, its fields, and their columns.
AROUND = {
    "logs": {"path": "log"},
    "heaps": {"heap": "heap"},
    "devices": {"device": "device", "index": "device"},
}
FLAT = {"process": "", "instance": "instance_"}      # objects whose fields become columns of the row, and what their names begin with

# The columns of blocks() with their expressions in SQL, and the names of the numbers in some: a table, its key and its column.
BLOCKS = {
    "pid": "process_id << 32", "heap": "heap", "address": "address", "bytes": "bytes", "made_ns": "made_ns", "freed_ns": "freed_ns",
    "range": "process_id << 32 | range_id", "thread": "process_id << 32 | thread_id", "site": "process_id << 32 | site_id",
    "caller": "process_id << 32 | site_id", "freed_range": "process_id << 32 | freed_range_id", "freed_thread": "process_id << 32 | freed_thread_id",
}
NAMES = {
    "pid": ("processes", "0", "process"), "range": ("ranges", "range_id", "path"), "thread": ("threads", "thread_id", "name"),
    "site": ("sites", "site_id", "name"), "caller": ("sites", "site_id", "caller"), "freed_range": ("ranges", "range_id", "path"),
    "freed_thread": ("threads", "thread_id", "name"),
}

TIMES = ("at", "from_", "to", "until", "every", "within")


def in_ns(options):
    """Returns the options with each time that is a whole number as ns, as in the columns whose names end in _ns."""
    def convert(key, value):
        if key not in TIMES or isinstance(value, str) or value is None:
            return value
        if isinstance(value, numbers.Integral):
            return f"{value}ns"
        raise MemprofError(f"{key}={value!r}: expected whole ns, or a text such as '1.5s' or 'step:7'")
    return {key: convert(key, value) for key, value in options.items()}


class Rows(list):
    """A list of dicts. attrs: the fields of the report outside of its list, as in DataFrame.attrs."""
    attrs = {}


def around(name, item):
    return {column: item[field] for field, column in AROUND.get(name, {}).items() if field in item}


def flat(item, prefix=""):
    """Returns the fields of an object as columns. A path becomes a tuple, which can be a key of groupby."""
    row = {}
    for key, value in item.items():
        if key in FLAT and isinstance(value, dict):
            row.update(flat(value, FLAT[key]))
        elif not isinstance(value, list):
            row[prefix + key] = value
        elif key == "path" or (value and not isinstance(value[0], dict)):
            row[prefix + key] = tuple(value)
    return row


def arrays(columns):
    """Returns the rows of an object of arrays, as `spans` of a timeline is."""
    return [dict(zip(columns, values)) for values in zip(*columns.values())]


def rows_of(item, steps, outer):
    """Returns the rows of the lists that the steps lead to."""
    alternatives = steps[0].split("|")
    rows = []
    for name in alternatives:
        found = item.get(name, [])
        label = {"list": name} if len(alternatives) > 1 else {}
        for one in arrays(found) if isinstance(found, dict) else found:
            rows += rows_of(one, steps[1:], {**outer, **around(name, one)}) if steps[1:] else [{**outer, **label, **flat(one)}]
    return rows


def spread(heaps):
    """Returns a row for each heap, band and span: the bytes that the band had at the span's maximum."""
    return [{"heap": heap["heap"], "path": tuple(band["path"]), "everything_else": band["everything_else"], "start_ns": start,
             "time_of_max_ns": time, "bytes_at_max": size}
            for heap in heaps for band in heap["bands"]
            for start, time, size in zip(heap["spans"]["start_ns"], heap["spans"]["time_of_max_ns"], band["bytes_at_max"])]


def connected(path):
    import sqlite3      # here, so that every start of pytest need not load it
    return contextlib.closing(sqlite3.connect(path))


def names_of(connection, column):
    """Returns the names of the numbers in a column of blocks()."""
    table, key, name = NAMES[column]
    return dict(connection.execute(f"SELECT process_id << 32 | {key}, {name} FROM {table}"))


def dict_rows(cursor):
    columns = [column[0] for column in cursor.description]
    return (dict(zip(columns, values)) for values in cursor)


def named(row, names):
    """Returns the row with names instead of numbers."""
    for column, found in names.items():
        row[column] = found.get(row[column])
    return row


def numbered_heaps(connection):
    """Returns the heaps by numbers, and the expression in SQL for the number of a block's heap."""
    heaps = [row[0] for row in connection.execute("SELECT DISTINCT heap FROM heaps")]
    cases = " ".join(f"WHEN '{heap}' THEN {number}" for number, heap in enumerate(heaps))
    return dict(enumerate(heaps)), f"CASE heap {cases} END" if heaps else "heap"


def arrays_of(cursor, columns):
    """Returns an array for each column of a query whose values are whole numbers. This takes two thirds of the time of
    pandas.read_sql_query."""
    numpy = importlib.import_module("numpy")
    values = numpy.fromiter(itertools.chain.from_iterable(cursor), "int64").reshape(-1, len(columns))
    return dict(zip(columns, values.T.copy()))


def columns_of(rows, empty):
    """Returns the columns of the rows, in the order of their first occurrence, or those of an empty result."""
    return list(dict.fromkeys(key for row in rows for key in row)) or empty.split()


def check_columns(columns, known):
    unknown = [column for column in columns if column not in known]
    if unknown:
        raise MemprofError(f"no column {', '.join(unknown)}: the columns are {', '.join(known)}")


class Reports:
    """Reports on logs. Each method runs memprof-report and returns a DataFrame, or Rows without pandas. Keyword
    arguments that are not described are options of the command: peaks(sort="end") is peaks --sort=end.

    columns: a list of the columns to return. A time may be a whole number of ns, or a text as memprof-report takes it.
    attrs of the result has the other fields of the report, such as `complete` and `process`."""

    def __init__(self, paths, pid=None, rank=None, run=None, pandas=None):
        if not paths:
            raise MemprofError("no log: give the path of a log, or of a directory with logs")
        for path in paths:
            if not os.path.exists(path):
                raise MemprofError(f"{os.fspath(path)}: no such file or directory")
        self.paths = paths
        self._which = {"pid": pid, "rank": rank, "run": run}
        self._wanted = pandas
        self._databases = {}
        self._place = None

    def __repr__(self):
        return f"<memprof_report.Reports on {', '.join(map(os.fspath, self.paths))}>"

    def report(self, command, **options):
        """Returns the JSON of any command, such as report("oom") or report("ranks")."""
        return program.run_json(command, self.paths, {**self._which, **in_ns(options)})

    def text(self, command="summary", **options):
        """Returns a report as text."""
        return program.run(command, self.paths, {**self._which, **in_ns(options)}).decode("utf-8", "replace")

    def summary(self, columns=None, **options):
        """The heaps with their peaks."""
        return self._list("summary", columns, options)

    def findings(self, columns=None, **options):
        """Findings that are worth a change, each with its advice."""
        return self._list("findings", columns, options)

    def devices(self, columns=None, **options):
        """The used bytes of each device at its peak, by part."""
        return self._list("devices", columns, options)

    def processes(self, columns=None, **options):
        """The processes of a run."""
        return self._list("processes", columns, options)

    def heaps(self, at=None, heap=None, columns=None, **options):
        """The heaps with all counts, at their peaks or at one time."""
        return self._list("heaps", columns, dict(options, at=at, heap=heap))

    def peaks(self, by=None, at=None, heap=None, columns=None, **options):
        """The owners of each heap's bytes, at its peak or at one time. by: auto, range, stack, python, library, thread or size."""
        return self._list("peaks", columns, dict(options, by=by, at=at, heap=heap))

    def leaks(self, by=None, at=None, heap=None, columns=None, **options):
        """Call sites that grow, may grow or grew earlier, as the column `list` says. `range` or `every` choose the instants."""
        return self._list("leaks", columns, dict(options, by=by, at=at, heap=heap))

    def live(self, by=None, at=None, heap=None, columns=None, **options):
        """The owners of the memory that is live at the end of the log, or at one time, and their growth."""
        return self._list("live", columns, dict(options, by=by, at=at, heap=heap))

    def steps(self, range=None, heap=None, columns=None, **options):
        """The instances of a repeated range: their peaks and the bytes that they kept."""
        return self._list("steps", columns, dict(options, range=range, heap=heap))

    def segments(self, at=None, columns=None, **options):
        """The segments of PyTorch's caching allocator."""
        return self._list("segments", columns, dict(options, at=at))

    def pins(self, at=None, columns=None, **options):
        """The owners of the blocks that pin free bytes of segments."""
        return self._list("pins", columns, dict(options, at=at))

    def timeline(self, heap=None, from_=None, to=None, columns=None, **options):
        """The bytes of each heap over time: one row for each span of time."""
        return self._list("timeline", columns, dict(options, heap=heap, from_=from_, to=to))

    def bands(self, by=None, heap=None, from_=None, to=None, columns=None, **options):
        """The owners of each heap's bytes over time: one row for each owner and span of time."""
        return self._list("bands", columns, dict(options, by=by, heap=heap, from_=from_, to=to))

    def temporary(self, by=None, heap=None, columns=None, **options):
        """The owners of blocks that are freed soon."""
        return self._list("temporary", columns, dict(options, by=by, heap=heap))

    def breakdown(self, at=None, columns=None, **options):
        """PyTorch's memory by its role in training."""
        return self._list("breakdown", columns, dict(options, at=at))

    def graphs(self, columns=None, **options):
        """CUDA graphs and their memory."""
        return self._list("graphs", columns, options)

    def blocks(self, heap=None, columns=None, min=None, from_=None, until=None):
        """The blocks of the log. heap: only its blocks. min, from_, until: as for `memprof-report export --to sqlite`."""
        columns = list(columns or BLOCKS)
        check_columns(columns, list(BLOCKS))
        pandas = self._pandas()
        with connected(self.database(min=min, from_=from_, until=until)) as connection:
            names = {column: names_of(connection, column) for column in columns if column in NAMES}
            fields = [BLOCKS[column] for column in columns]
            if pandas and "heap" in columns:
                names["heap"], fields[columns.index("heap")] = numbered_heaps(connection)
            if pandas:
                fields = [f"ifnull({field}, -1)" for field in fields]
            query = "SELECT " + ", ".join(f'{field} AS "{column}"' for field, column in zip(fields, columns)) + " FROM blocks"
            cursor = connection.execute(query + (" WHERE heap = ?" if heap else ""), [heap] if heap else [])
            if not pandas:
                return Rows(named(row, names) for row in dict_rows(cursor))
            frame = pandas.DataFrame(arrays_of(cursor, columns))
        for column, found in names.items():
            frame[column] = frame[column].map(found)
        if "freed_ns" in frame:
            frame["freed_ns"] = frame["freed_ns"].astype("Int64").mask(frame["freed_ns"] < 0)
        return frame

    def sql(self, query, parameters=()):
        """The rows of a query to the database. memprof-report(1) has its tables, under OPTIONS OF EXPORT."""
        pandas = self._pandas()
        with connected(self.database()) as connection:
            try:
                if pandas:
                    return whole_numbers(pandas.read_sql_query(query, connection, params=parameters))
                return Rows(dict_rows(connection.execute(query, parameters)))
            except Exception as error:      # sqlite3.Error, which pandas wraps
                raise MemprofError(f"{error}; memprof-report(1) has the tables, under OPTIONS OF EXPORT") from error

    def database(self, **options):
        """Returns the path of the SQLite database, which is removed together with this object."""
        key = tuple(sorted((key, str(value)) for key, value in options.items()))
        if key not in self._databases:
            self._place = self._place or tempfile.TemporaryDirectory(prefix="memprof_report.")
            path = os.path.join(self._place.name, f"{len(self._databases)}.sqlite")
            program.run("export", self.paths, {**self._which, **in_ns(options), "to": "sqlite", "output": path})
            self._databases[key] = path
        return self._databases[key]

    def page(self, output="memprof.html"):
        """Writes the HTML page and returns its path."""
        program.run("html", self.paths, {**self._which, "output": output})
        return output

    # ---- how

    def _json(self, command, options):
        document = program.run_json(command, self.paths, {**self._which, **in_ns(options)})
        expected = SCHEMAS.get(command, f"memprof.{command}/1")
        if document.get("schema") != expected:
            found = program.find("memprof-report", "MEMPROF_REPORT")
            raise MemprofError(f"the report {command} has the schema {document.get('schema')}, and {expected} was expected" + program.other_version(found))
        return document

    def _list(self, method, columns, options):
        command, steps, empty = LISTS[method]
        document = self._json(command, options)
        rows = spread(document["heaps"]) if method == "bands" else rows_of(document, steps.split("."), {})
        known = columns_of(rows, empty)
        if columns and rows:
            check_columns(columns, known)
        table = self._table(rows, list(columns or known))
        table.attrs = {key: value for key, value in document.items() if not (isinstance(value, list) and value and isinstance(value[0], dict))}
        return table

    def _table(self, rows, columns):
        pandas = self._pandas()
        if pandas:
            return whole_numbers(pandas.DataFrame(rows, columns=columns))
        return Rows({column: row[column] for column in columns if column in row} for row in rows)

    def _pandas(self):
        """Returns the module, or None for lists of dicts."""
        if self._wanted is False:
            return None
        try:
            return importlib.import_module("pandas")
        except ImportError as error:
            if self._wanted:
                raise MemprofError(f"pandas cannot be imported ({error}): install it, or use pandas=False for lists of dicts") from error
            return None


def whole_numbers(frame):
    """Returns the frame with whole numbers in the columns that miss some values, which pandas would show as floats."""
    for column in frame.columns:
        values = frame[column]
        if column.endswith(("bytes", "_ns", "blocks", "steps", "number", "pid", "rank")) and values.dtype.kind == "f":
            frame[column] = values.astype("Int64")
    return frame
