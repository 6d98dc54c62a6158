"""Ranges and marks of this program, without another package.

This is a client of NVTX (nvtx3/nvToolsExt.h) in ctypes: it hands libmemprof.so a table of functions, as NVTX's header does
in a C program, and calls the functions that the library stores in it. If this process is not recorded, nothing is
called."""
import ctypes
import functools
import inspect
import os

CALLBACKS, VERSIONS = 1, 3      # NVTX's export tables
CORE = 1                        # a module of NVTX: the functions without domains
ENTRIES = 16                    # its functions have the numbers 1 to 15
MARK, PUSH, POP = 2, 9, 11      # nvtxMarkA, nvtxRangePushA, nvtxRangePop

Slots = ctypes.c_void_p * ENTRIES
GetTable = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)
GetModule = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint))
SetVersion = ctypes.CFUNCTYPE(None, ctypes.c_uint32)


class Callbacks(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_size_t), ("module_table", GetModule)]


class Versions(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_size_t), ("version", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("set", SetVersion)]


class Client:
    """The tables that NVTX's header has in a C program. They must live as long as the process."""

    def __init__(self):
        self.slots = Slots()
        self.entries = Slots(*[ctypes.addressof(self.slots) + i * ctypes.sizeof(ctypes.c_void_p) if i else 0 for i in _range(ENTRIES)])
        self.callbacks = Callbacks(ctypes.sizeof(Callbacks), GetModule(self.module_table))
        self.versions = Versions(ctypes.sizeof(Versions), 3, 0, SetVersion(lambda version: None))
        self.get_table = GetTable(self.table)

    def table(self, number):
        found = {CALLBACKS: self.callbacks, VERSIONS: self.versions}.get(number)
        return found and ctypes.addressof(found)

    def module_table(self, module, table, entries):
        if module != CORE:
            return 0
        if table:
            table[0] = ctypes.addressof(self.entries)
        if entries:
            entries[0] = ENTRIES
        return 1

    def function(self, number, result, *parameters):
        # PYFUNCTYPE keeps the interpreter's lock: these functions never wait for another Python thread
        return ctypes.PYFUNCTYPE(result, *parameters)(self.slots[number]) if self.slots[number] else None


@functools.lru_cache(maxsize=None)
def library():
    """Returns the libmemprof.so in this process, or None."""
    path = os.environ.get("NVTX_INJECTION64_PATH", "")
    if not os.path.basename(path).startswith("libmemprof"):
        return None
    try:
        return ctypes.PyDLL(path, mode=os.RTLD_NOW | os.RTLD_NOLOAD)
    except OSError:
        return None


def connect():
    """Returns a Client of the libmemprof.so that records this process, or None."""
    found = library()
    if not hasattr(found, "InitializeInjectionNvtx2"):
        return None
    initialize = found.InitializeInjectionNvtx2
    client = Client()
    initialize.argtypes, initialize.restype = [GetTable], ctypes.c_int
    return client if initialize(client.get_table) else None


def nothing(*_):
    pass


_range = range      # Python's, which the class below hides
_client = connect()
_mark = _client and _client.function(MARK, None, ctypes.c_char_p) or nothing
_push = _client and _client.function(PUSH, ctypes.c_int, ctypes.c_char_p) or nothing
_pop = _client and _client.function(POP, ctypes.c_int) or nothing


def encoded(name):
    return str(name).encode("utf-8", "replace")


def recorded():
    """Returns True if memprof records this process."""
    return _client is not None


def snapshot(name):
    """Marks an instant, if memprof records this process. `--at "NAME:1"` of memprof-report, and at="NAME:1" of the methods of
    Reports, show the memory at the first instant of that name."""
    _mark(encoded(name))


class range:
    """A range of the calling thread, if memprof records this process: `with range("step 7"):`, or a decorator. Without a
    name, a decorated function's name is the name of its range."""
    __slots__ = ("_name",)

    def __init__(self, name=None):
        self._name = None if name is None else encoded(name)

    def __enter__(self):
        _push(self._name or b"range")
        return self

    def __exit__(self, *_):
        _pop()

    def __call__(self, function):
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{function.__qualname__} is suspended while it runs, and a range belongs to a thread: use `with range(...)` around code "
                            "without await and yield")
        name = self._name or encoded(function.__qualname__)

        @functools.wraps(function)
        def ranged(*args, **kwargs):
            _push(name)
            try:
                return function(*args, **kwargs)
            finally:
                _pop()
        return ranged
