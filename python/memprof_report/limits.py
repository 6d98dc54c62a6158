"""Limits of the memory of a test: the markers limit_memory and limit_leaks, and the texts of their failures."""
import collections
import contextlib
import gc
import re
import sys
import warnings

from . import measurement
from .program import MemprofError, MemprofWarning

MEMORY, LEAKS = "limit_memory", "limit_leaks"
MARKERS = (
    f"{MEMORY}(limit, *, host=None, gpu=None): with --memprof, fail the test if the memory that it allocates and has not freed exceeds the limit at some time",
    f"{LEAKS}(limit, *, host=None, gpu=None, warmups=0): with --memprof, fail the test if more than the limit of the memory that it allocates is not freed "
    "after its teardown",
)
UNITS = {unit: 1 << 10 * power for power, unit in enumerate(" KMGTP")}
UNLIMITED = (1 << 64) - 1
ARENA = 1 << 20     # bytes in which Python's allocator maps memory for small objects
OBJECT = 128        # bytes of a small object: more than most have
MAPPINGS = ("host/mmap", "host/shm")
LINES = 20          # of a failure, at most
DETAILED = 20       # failures with call sites: each reads the log

# bytes, or None without a limit. text: the limit as it was given
Limit = collections.namedtuple("Limit", "host gpu text")
Limits = collections.namedtuple("Limits", "memory leaks warmups")


def size_of(value):
    """Returns a size in bytes. KB and KiB are 1024 bytes, as memprof-report and pytest-memray have it."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    found = isinstance(value, str) and re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGTP]?)(?:i?B)?\s*", value, re.IGNORECASE)
    if not found:
        raise ValueError(f"invalid size {value!r}: expected bytes, or a text such as '100 MB'")
    return int(float(found[1]) * UNITS[found[2].upper() or " "])


def limit_of(limit=None, *, host=None, gpu=None):
    """Returns a Limit from the arguments of a marker."""
    if limit is None and host is None and gpu is None:
        raise ValueError("no limit is given: expected a size such as '100 MB', host= or gpu=")
    host, gpu = (limit if host is None else host), (limit if gpu is None else gpu)
    return Limit(*(None if one is None else size_of(one) for one in (host, gpu)), {"host": host, "gpu": gpu})


def leaks_of(*args, warmups=0, **kwargs):
    if not isinstance(warmups, int) or warmups < 0:
        raise ValueError(f"invalid warmups={warmups!r}: expected a number of runs")
    return limit_of(*args, **kwargs), warmups


def from_marker(item, marker, name, function, default):
    """Returns the result of the function for the arguments of the marker, or the default without a marker."""
    if not marker:
        return default
    try:
        return function(*marker.args, **marker.kwargs)
    except (TypeError, ValueError) as error:
        text = re.sub(r"^\w+\(\) ", "", str(error))
        raise MemprofError(f"{item.nodeid}: {name}: {text}") from error


def limits_of(item, default):
    """Returns the Limits of a test. default: those of tests without a marker."""
    closest = {}
    for marker in item.iter_markers():
        if marker.name in (MEMORY, LEAKS):
            closest.setdefault(marker.name, marker)
    if not closest:
        return default
    memory = from_marker(item, closest.get(MEMORY), MEMORY, limit_of, default.memory)
    leaks, warmups = from_marker(item, closest.get(LEAKS), LEAKS, leaks_of, (default.leaks, 0))
    return Limits(memory, leaks, warmups)


def text_of(size):
    """Returns bytes as memprof-report writes them."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024:
            break
        size /= 1024
    else:
        unit = "TiB"
    return f"{size} B" if unit == "B" else f"{size:.2f} {unit}"


Excess = collections.namedtuple("Excess", "heap bytes limit text measured")


def excesses(heaps, limit, bytes_of):
    """Returns an Excess for each heap whose bytes exceed its limit. Memory of the host is limited as a whole."""
    found = []
    for heap, measured in heaps.items():
        kind = "gpu" if heap.startswith("gpu") else "host"
        allowed = getattr(limit, kind)
        if allowed is None or heap in measurement.OF_HOST["host"] or heap.endswith(("/arenas", "/segments")):
            continue
        size = bytes_of(heap, measured)
        if size > allowed:
            found.append(Excess(heap, size, allowed, limit.text[kind], measured))
    return found


def blocks_of(reports, heaps, measured, at_peak):
    """Returns (bytes, blocks, call site) for the blocks of a measurement that are live at its peak, or now."""
    slack = 2000        # ns: times in the log are in steps of up to 1000 ns
    made_until = measured.peak_ns if at_peak else measured.stop_ns
    condition = "freed_ns IS NULL" + (f" OR freed_ns > {measured.peak_ns}" if at_peak else "")
    query = (f"SELECT sum(bytes), count(*), name FROM blocks LEFT JOIN sites USING (process_id, site_id) WHERE heap IN ({', '.join('?' * len(heaps))}) "
             f"AND made_ns >= ? AND made_ns <= ? AND ({condition}) GROUP BY name")
    return [tuple(row.values()) for row in reports.sql(query, [*heaps, measured.begin_ns, made_until + slack])]


def mappings_of(reports, heap, measured, at_peak):
    """Returns the same for mappings, which are not blocks of the log: what call sites have more of than at the beginning."""
    def at(time):
        return {row["path"]: (row["bytes_at_peak"], row["blocks_at_peak"]) for row in reports.peaks(by="python", heap=heap, at=time)}
    before, after = at(measured.begin_ns), at(measured.peak_ns if at_peak else "end")
    more = ((size - before.get(path, (0, 0))[0], max(1, count - before.get(path, (0, 0))[1]), path) for path, (size, count) in after.items())
    return [(size, count, path[-1] if path else None) for size, count, path in more if size > 0]


def sites(excess, heaps, at_peak):
    """Returns (bytes, blocks, call site) for an excess, the largest first, from the log of this process."""
    from .reports import Reports
    of_excess = measurement.OF_HOST.get(excess.heap, (excess.heap,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reports = Reports([measurement.log_path()], pandas=False)
        rows = blocks_of(reports, of_excess, excess.measured, at_peak)
        for heap in MAPPINGS:
            if heap in of_excess and heap in heaps:
                rows += mappings_of(reports, heap, excess.measured, at_peak)
    return sorted(rows, key=lambda row: -row[0])


class Failure:
    """The text of a failure. Only the first ones have call sites, because each reads the log."""
    made = 0

    def __init__(self, item, marker, heaps, found, at_peak):
        self.item, self.marker, self.heaps, self.found, self.at_peak = item, marker, heaps, found, at_peak
        Failure.made += 1

    def heading(self, excess):
        whose = {"host": "host memory"}.get(excess.heap, excess.heap)
        what = "allocated up to" if self.at_peak else "did not free"
        limit = excess.text if isinstance(excess.text, str) else f"{excess.text} bytes"
        return (f"{self.item.name} {what} {text_of(excess.bytes)} of {whose} ({excess.bytes:,} bytes), {text_of(excess.bytes - excess.limit)} more than its "
                f"{self.marker} of {limit}")

    def call_sites(self, excess, room):
        try:
            rows = sites(excess, self.heaps, self.at_peak)
        except MemprofError as error:
            return [f"  call sites are unknown: {str(error).splitlines()[0]}"]
        shown = [f"{text_of(size):>14} in {blocks:,} block{'s' if blocks != 1 else ''}: {name or '(without a call stack)'}" for size, blocks, name in rows[:room]]
        rest = sum(row[0] for row in rows[room:])
        return shown + ([f"{text_of(rest):>14} at {len(rows) - room} more call sites"] if rest else [])

    def text(self):
        lines = []
        heaps = self.found[:3]
        for excess in heaps:
            lines.append(self.heading(excess))
            if Failure.made <= DETAILED:
                lines += self.call_sites(excess, LINES // len(heaps) - 4)
        if len(self.found) > len(heaps):
            lines.append(f"({len(self.found) - len(heaps)} more heaps exceed their limit)")
        if Failure.made > DETAILED:
            lines.append(f"(call sites are shown for the first {DETAILED} failures)")
        return "\n".join(lines)


class Check:
    """Measures one test and decides its limits."""

    def __init__(self, item, limits):
        self.item, self.limits = item, limits
        self.objects = sys.getallocatedblocks()
        self.measurement = measurement.Measurement()

    def stop(self):
        with contextlib.suppress(MemprofError):     # `read` says why
            self.measurement.stop()

    def end(self):
        self.measurement.end()

    def is_below(self, limit):
        """Returns True if the test cannot have exceeded the limit. This costs much less than the exact figures."""
        try:
            return self.measurement.is_below(*(UNLIMITED if one is None else one for one in (limit.host, limit.gpu)))
        except MemprofError:
            return False

    def read(self):
        """Returns the figures, or None after a warning if they are not exact."""
        try:
            return self.measurement.read()
        except MemprofError as error:
            warnings.warn(f"{self.item.nodeid}: its memory limits are undecided: {error}", MemprofWarning, stacklevel=2)
            return None

    def memory(self):
        """Returns the text of the failure, or None."""
        if not self.limits.memory or self.is_below(self.limits.memory):
            return None
        heaps = self.read() or {}
        found = excesses(heaps, self.limits.memory, lambda heap, measured: measured.peak_bytes)
        return Failure(self.item, MEMORY, heaps, found, True).text() if found else None

    def leaks(self):
        """Returns the text of the failure, or None. Called after the teardown. An arena stays mapped while one small object is left in
        it, and the newest one may be almost empty. So arenas count as much as the objects that were added may have, without one arena."""
        if not self.limits.leaks or self.is_below(self.limits.leaks):
            return None
        gc.collect()
        objects = max(0, sys.getallocatedblocks() - self.objects)
        heaps = self.read() or {}
        arenas = heaps["host/arenas"].live_bytes if "host/arenas" in heaps else 0
        unused = arenas - min(objects * OBJECT, max(0, arenas - ARENA))
        found = excesses(heaps, self.limits.leaks, lambda heap, measured: measured.live_bytes - (unused if heap == "host" else 0))
        return Failure(self.item, LEAKS, heaps, found, False).text() if found else None


def check_process(limits):
    """Raises a MemprofError if this process cannot decide these limits."""
    probe = measurement.Measurement()
    try:
        heaps = probe.read()
    finally:
        probe.end()
    of_host = any(limit and limit.host is not None for one in limits for limit in (one.memory, one.leaks))
    if of_host and "host" not in heaps:
        raise MemprofError("limits of host memory need all blocks of malloc: leave out the option --host or MEMPROF_HOST, or limit only gpu=")
