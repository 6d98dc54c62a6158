"""libmemprof.so exports only its hooks, and records programs that load it or other libraries themselves."""
import os
import re
import subprocess

import mp

NEWEST = (2, 34)        # the newest GLIBC version that the library may require
CUPTI = {f"cupti{name}" for name in ("Subscribe", "Unsubscribe", "Finalize", "EnableCallback", "EnableDomain",
                                     "EnableAllDomains", "GetCallbackState")}
CUDA = CUPTI | {"InitializeInjection"}      # called by the driver
NVTX = {"InitializeInjectionNvtx", "InitializeInjectionNvtx2", "InitializeInjectionNvtxExtension"}
COMPANIONS = "memprof_"        # called by our companion libraries


def readelf(*options):
    return subprocess.run(["readelf", "-W", *options, mp.library()], stdout=subprocess.PIPE, check=True, text=True).stdout


def symbols():
    """Returns (name with version, defined) of the dynamic symbols."""
    for line in readelf("--dyn-syms").splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[4] in ("GLOBAL", "WEAK"):
            yield fields[7], fields[6] != "UND"


def test_library_depends_only_on_libc():
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d")))
    mp.check(needed <= {"libc.so.6", "ld-linux-x86-64.so.2"}, f"NEEDED {needed}")


def test_library_needs_no_glibc_newer_than_2_34():
    for name, defined in symbols():
        version = re.search(r"@GLIBC_(\d+)\.(\d+)", name)
        mp.check(defined or not version or tuple(map(int, version.groups())) <= NEWEST, name)


def test_library_needs_no_executable_stack():
    stack, = (line.split() for line in readelf("-l").splitlines() if "GNU_STACK" in line)
    mp.equal(stack[6], "RW", "flags of GNU_STACK")


def test_exported_symbols_match_the_hook_list():
    with open(os.environ["MEMPROF_HOOKS"], encoding="ascii") as f:
        hooks = set(re.findall(r"^MP_HOOK(?:_CXX|_TORCH)?\((\w+)\)", f.read(), re.MULTILINE))
    exported = {name for name, defined in symbols() if defined}
    more = NVTX | CUDA if os.environ.get("FAKE_CUDA_DIR") else NVTX
    mp.equal({n for n in exported if not n.startswith(COMPANIONS)} - hooks, more, "exports that are no hooks")
    mp.equal(hooks - exported, set(), "hooks that are not exported")
    mp.check(not any("@" in name for name in exported), "a versioned name hooks nothing")


def test_library_uses_at_most_128_bytes_of_static_tls():
    """A program that opens the library with dlopen takes this from a reserve of a few hundred bytes."""
    tls = [line.split() for line in readelf("-l").splitlines() if line.split()[:1] == ["TLS"]]
    mp.check(not tls or int(tls[0][5], 16) <= 128, f"TLS segment {tls}")


def test_library_does_nothing_if_opened_late_by_dlopen():
    """Children inherit NVTX_INJECTION64_PATH if LD_PRELOAD is removed, and then NVTX loads the library."""
    place = mp.fresh("out")
    env = {"MEMPROF_OUT": os.path.join(place, "%p.zst"), "NVTX_INJECTION64_PATH": mp.library()}
    status, out, err = mp.bare([mp.victim("loader"), "late", mp.library()], env=env)
    mp.equal((status, out, err), (0, f"{mp.library()} -\n".encode(), b""), "the program")
    mp.equal(os.listdir(place), [], "logs")


def test_library_with_initial_exec_tls_can_be_opened_late():
    argv = [mp.victim("loader"), "tls", mp.victim("libstatic_tls.so")]
    mp.equal(mp.run(argv).out, mp.bare(argv)[1], "output")
    mp.equal(mp.bare(argv)[1], b"42\n", "bare")


def test_hooks_read_no_size_header_of_another_allocator():
    """If the C library serves malloc, its blocks have sizes. It is recognised by its object, because other allocators
    use the same names."""
    argv = ["/bin/sh", "-c", "for i in 1 2 3; do x=$x$i; done; echo $x"]
    result = mp.run(argv, preload=[mp.victim("libforeign_allocator.so")])
    mp.equal(result.out, b"123\n", "the program")
    mp.whole(result.logs.one())


def test_allocator_preloaded_before_memprof_is_warned_about():
    """This library takes the program's malloc calls. memprof warns, and records everything except the heap."""
    if mp.bare(["/bin/true"], env={"LD_PRELOAD": "libjemalloc.so.2"})[2]:
        raise mp.Skip("libjemalloc.so.2 is not installed")
    result = mp.run([mp.victim("work"), "3000"], before=["libjemalloc.so.2"])
    mp.equal(result.out, mp.bare([mp.victim("work"), "3000"])[1], "the program's result")
    mp.check(result.err.startswith(b"memprof: libjemalloc.so.2 provides malloc instead of libmemprof.so: "), f"no warning: {result.err}")
    log = result.logs.one()
    mp.whole(log)
    mp.equal(log.heap()["allocations"], 0, "blocks")
    mp.check("host/mmap" in [h["heap"] for h in log.json["heaps"]], "jemalloc's mappings")


if __name__ == "__main__":
    mp.main()
