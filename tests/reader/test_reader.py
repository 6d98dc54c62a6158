"""Another program can use libmemprof-reader after it was installed, moved, and linked by pkg-config and by CMake."""
import glob
import json
import os
import re
import shutil
import signal
import subprocess

import mp

BUILD, SOURCE, GOLDEN = os.environ["MEMPROF_BUILD"], os.environ["MEMPROF_SOURCE"], os.environ["GOLDEN"]
REPORT = os.environ["MEMPROF_REPORT"]
PROGRAM = os.path.join(SOURCE, "examples/reader/peak.c")


def output(*command, statuses=(0,), **popen):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=mp.TIMEOUT, **popen)
    mp.check(done.returncode in statuses, f"{command}: status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def installed():
    """Installs the tree, moves it, and returns its new path."""
    first, moved = os.path.join(mp.folder, "first"), os.path.join(mp.folder, "moved")
    output("cmake", "--install", BUILD, "--prefix", first)
    os.rename(first, moved)
    return moved


def folder_of(top, name):
    (found,) = glob.glob(f"{top}/lib*/**/{name}", recursive=True)
    return os.path.dirname(found)


def by_pkg_config(top):
    if not shutil.which("pkg-config"):
        raise mp.Skip("pkg-config is not installed")
    flags = output("pkg-config", "--cflags", "--libs", "memprof-reader", env={**os.environ, "PKG_CONFIG_PATH": folder_of(top, "memprof-reader.pc")})
    program = os.path.join(mp.folder, "peak")
    output("gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-o", program, PROGRAM, *flags.split())
    return program


def by_cmake(top):
    build = os.path.join(mp.folder, "build")
    output("cmake", "-S", os.path.dirname(PROGRAM), "-B", build, "-Dmemprof_ROOT=" + top)
    output("cmake", "--build", build)
    return os.path.join(build, "peak")


def says_what_peaks_says(program):
    """Runs on every log that other tests read."""
    logs = glob.glob(GOLDEN + "/*.zst")
    mp.check(len(logs) > 10, "no golden logs")
    for log in logs:
        found = dict(re.findall(r"^(\S+/\S+) (\d+ bytes at \d+) ns$", output(program, log), re.M))
        heaps = json.loads(output(REPORT, "peaks", "--format", "json", log, statuses=(0, 3)))["logs"][0]["heaps"]
        mp.equal(found, {h["heap"]: f"{h['peak_bytes']} bytes at {h['peak_time_ns']}" for h in heaps}, f"heaps of {log}")


def test_reader_is_found_by_pkg_config():
    says_what_peaks_says(by_pkg_config(installed()))


def test_reader_is_found_by_cmake():
    says_what_peaks_says(by_cmake(installed()))


def test_reader_is_used_from_cxx():
    top = installed()
    headers = sorted(os.path.relpath(h, top + "/include/memprof") for h in glob.glob(top + "/include/memprof/*/*.h"))
    source, program = os.path.join(mp.folder, "use.cc"), os.path.join(mp.folder, "use")
    with open(source, "w") as file:
        file.writelines(f"#include <{header}>\n" for header in headers)
        file.write("#include <cstdio>\nint main() { std::puts(mpf_op_name(MPF_OP_ALLOC)); mpr_stream_close(mpr_stream_open(\"none\")); }\n")
    output("g++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-I", top + "/include/memprof", source, folder_of(top, "libmemprof-reader.a") + "/libmemprof-reader.a",
           "-lm", "-o", program)
    mp.equal(output(program), "ALLOC\n", "output")


def test_reader_is_used_from_c99():
    top = installed()
    include = top + "/include/memprof"
    for header in glob.glob(include + "/*/*.h"):
        output("gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wundef", "-Werror", "-fsyntax-only", "-I", include, header)


def test_reader_passes_other_faults_to_the_program():
    """A fault of the program, and a signal sent by another process, have the same effect as without the library."""
    top = installed()
    program = os.path.join(mp.folder, "sigbus")
    output("gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I", top + "/include/memprof", os.path.join(SOURCE, "tests/reader/sigbus.c"),
           folder_of(top, "libmemprof-reader.a") + "/libmemprof-reader.a", "-lm", "-o", program)
    for words, status, printed in ((("jump",), 0, "2 calls, 0 with an address\n"), (("jump", "sent"), 0, "2 calls, 0 with an address\n"),
                                 (("siginfo",), 0, "2 calls, 2 with an address\n"), (("once",), -signal.SIGBUS, "called once\n"),
                                 (("default",), -signal.SIGBUS, ""), (("default", "sent"), -signal.SIGBUS, ""),
                                 (("ignored",), -signal.SIGBUS, ""), (("ignored", "sent"), 0, "0 calls, 0 with an address\n")):
        log = shutil.copy(os.path.join(GOLDEN, "h200-pytorch.zst"), mp.folder)
        done = subprocess.run([program, log, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=mp.TIMEOUT)
        mp.equal((done.returncode, done.stdout), (status, printed), f"status and output of {words}")


def test_reader_is_found_with_an_absolute_library_directory():
    """CMAKE_INSTALL_LIBDIR may be absolute. The installed tree then cannot be moved."""
    if not shutil.which("pkg-config"):
        raise mp.Skip("pkg-config is not installed")
    build, folder = os.path.join(mp.folder, "other"), os.path.join(mp.folder, "opt/x/lib64/pkgconfig")
    output("cmake", "-S", SOURCE, "-B", build, "-DCMAKE_INSTALL_PREFIX=/usr/local", "-DCMAKE_INSTALL_LIBDIR=/opt/x/lib64")
    os.makedirs(folder)
    shutil.copy(os.path.join(build, "memprof-reader.pc"), folder)
    flags = output("pkg-config", "--cflags", "--libs", "memprof-reader", env={**os.environ, "PKG_CONFIG_PATH": folder}).split()
    mp.equal([flag[:2] + os.path.relpath(flag[2:], mp.folder) for flag in flags[:2]], ["-Iusr/local/include/memprof", "-Lopt/x/lib64"], "folders")


def test_reader_refuses_cmake_components():
    top, project = installed(), os.path.join(mp.folder, "project")
    os.mkdir(project)
    with open(os.path.join(project, "CMakeLists.txt"), "w") as file:
        file.write("cmake_minimum_required(VERSION 3.25)\nproject(p NONE)\nfind_package(memprof REQUIRED COMPONENTS bogus)\n")
    output("cmake", "-S", project, "-B", project + "/build", "-Dmemprof_ROOT=" + top, statuses=(1,))


def test_reader_exports_only_its_own_names():
    top = installed()
    (library,) = glob.glob(top + "/lib*/**/libmemprof-reader.a", recursive=True)
    names = set(re.findall(r" [A-Z] (\S+)", output("nm", "--defined-only", "--extern-only", library)))
    declared = set()
    for header in ("mpr/stream.h", "mpf/event.h"):
        with open(os.path.join(top, "include/memprof", header)) as file:
            declared |= set(re.findall(r"\b(mp[rf]_\w+)\([^{};]*\);", file.read()))
    mp.equal(names, declared, "names of the library, and those of its headers")


def test_reader_reports_files_that_it_cannot_read():
    program = by_cmake(installed())
    for path, what in ("/dev/null", "this is not a regular file"), (mp.folder, "this is a directory"):
        done = subprocess.run([program, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=mp.TIMEOUT)
        mp.equal((done.returncode, done.stderr), (1, f"{path}: {what}; give a log file\n"), "status and message")


if __name__ == "__main__":
    mp.main()
