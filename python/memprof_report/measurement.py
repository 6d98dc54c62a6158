"""The memory that a part of this program allocates, counted by libmemprof.so while the program runs.

The figures are those of the log, to the byte. They cover all threads of the process."""
import collections
import ctypes
import functools
import os

from .program import MemprofError
from .ranges import library, recorded

ERRORS = {      # enum memprof_measure_error
    -1: "this process is not recorded any more",
    -2: "there are eight measurements already: end one of them",
    -3: "there is no such measurement: it was ended, or this is a forked child",
    -4: "another thread did not finish storing an event for a second",
    -5: "there was no memory to count all blocks",
}
UNDECIDED = (-4, -5)
ROWS = 128
OF_HOST = {"host": ("host/heap", "host/mmap", "host/shm")}      # the heaps in a sum

Measured = collections.namedtuple("Measured", "peak_bytes live_bytes allocations begin_ns stop_ns peak_ns")


class Row(ctypes.Structure):
    _fields_ = [("heap", ctypes.c_char * 16), *((name, ctypes.c_uint64) for name in Measured._fields)]


Rows = Row * ROWS


class Undecided(MemprofError):
    """Raised if a measurement has no exact figures."""


@functools.lru_cache(maxsize=None)
def functions():
    """Returns the library that records this process, with its functions for measurements."""
    found = library() if recorded() else None
    if not found:
        raise MemprofError("this process is not recorded, so its memory cannot be measured: run the program with `memprof run`")
    if not hasattr(found, "memprof_measure_begin"):
        raise MemprofError(f"{found._name} is older than this package and cannot measure: install both from one build")
    return found


def checked(result):
    if result < 0:
        raise (Undecided if result in UNDECIDED else MemprofError)(ERRORS.get(result, f"libmemprof.so returned {result}"))
    return result


class Measurement:
    """Begins when it is made. `read` returns the figures of each heap; `end` must be called at last."""

    def __init__(self):
        self.library = functions()
        self.number = checked(self.library.memprof_measure_begin())

    def stop(self):
        """Memory that is allocated from now on is not counted. Frees are."""
        checked(self.library.memprof_measure_stop(self.number))

    def read(self):
        """Returns {heap: Measured}: "host" for all memory of the host, and each heap with an allocation. The sum and host/heap
        are missing if only some blocks of malloc are recorded."""
        rows, lost = Rows(), ctypes.c_uint64()
        count = checked(self.library.memprof_measure_read(self.number, rows, ROWS, ctypes.byref(lost)))
        if lost.value:
            raise Undecided(f"{lost.value} events were lost")
        return {row.heap.decode(): Measured(*(getattr(row, name) for name in Measured._fields)) for row in rows[:count]}

    def is_below(self, host, gpu):
        """Returns True if no peak of the host's memory or of a GPU's heap exceeds these bytes. False: `read` knows more."""
        return checked(self.library.memprof_measure_is_below(self.number, ctypes.c_uint64(host), ctypes.c_uint64(gpu))) == 1

    def end(self):
        self.library.memprof_measure_end(self.number)


class measure:
    """Measures the memory that is allocated in a `with` statement, by all threads, in a process that memprof records:

        with memprof_report.measure() as memory:
            train()
        print(memory.peak_bytes["host"], memory.live_bytes.get("gpu0/torch", 0))

    peak_bytes and live_bytes have the maximum of the bytes that were allocated in it and not freed, and those at its end, by
    heap. "host" is the sum of host/heap, host/mmap and host/shm."""

    def __enter__(self):
        self._measurement = Measurement()
        return self

    def __exit__(self, *_):
        try:
            self.heaps = self._measurement.read()
        finally:
            self._measurement.end()
        self.peak_bytes = {heap: measured.peak_bytes for heap, measured in self.heaps.items()}
        self.live_bytes = {heap: measured.live_bytes for heap, measured in self.heaps.items()}


def log_path():
    """Returns the path of the log of this process."""
    path = ctypes.create_string_buffer(4096)
    checked(functions().memprof_log_path(path, ctypes.c_size_t(len(path))))
    return os.fsdecode(path.value)
