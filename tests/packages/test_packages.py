"""The packages that `cpack` makes have the right files, and run where they are unpacked and in clean roots of
distributions."""
import glob
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import tarfile

import mp
import roots

BUILD, SOURCE = os.environ["MEMPROF_BUILD"], os.environ["MEMPROF_SOURCE"]
MADE = os.path.join(BUILD, "packages")
OLDEST_GLIBC = (2, 34)
BUILT_ON = (2, 37)      # headers of newer versions would make the programs require a newer C library
with open(os.path.join(SOURCE, "CMakeLists.txt")) as project:
    VERSION = re.search(r"VERSION ([0-9.]+)", project.read().split("project(", 1)[1])[1]
LIBRARIES = ["libmemprof.so", *(["libmemprof-cuda.so"] if os.environ["MEMPROF_CUDA"] == "1" else []), "libmemprof-jemalloc.so", "libmemprof-mimalloc.so", "libmemprof-tcmalloc.so"]
SHARED_BY_ALL = ["bin/memprof", "bin/memprof-report", *("lib/" + name for name in LIBRARIES), "share/bash-completion/completions/memprof",
                 "share/bash-completion/completions/memprof-report", "lib/libmemprof-reader.a", "lib/pkgconfig/memprof-reader.pc",
                 "lib/cmake/memprof/memprof-config.cmake", "lib/cmake/memprof/memprof-config-version.cmake", "include/memprof/mpr/stream.h",
                 *("include/memprof/mpf/" + name for name in ("event.h", "events.def", "gpu.h", "sample.h")),
                 *("lib/python3/dist-packages/memprof_report/" + os.path.basename(path) for path in glob.glob(os.path.join(SOURCE, "python/memprof_report/*.py"))),
                 *("lib/python3/dist-packages/memprof_report-" + VERSION + ".dist-info/" + name for name in ("METADATA", "entry_points.txt")),
                 *("share/doc/memprof/" + os.path.relpath(path, SOURCE) for pattern in ("README.md", "docs/*.md", "docs/*.png", "docs/skill/SKILL.md", "format/FORMAT.md")
                   for path in glob.glob(os.path.join(SOURCE, pattern)))]


def output(*command, **popen):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True, text=True, timeout=mp.TIMEOUT, **popen).stdout


def one(pattern):
    found = glob.glob(os.path.join(MADE, pattern))
    mp.equal(len(found), 1, f"files {pattern}")
    return found[0]


def deb():
    """Unpacks the package and returns its folder usr."""
    place = mp.fresh("deb")
    output("dpkg-deb", "-x", one("memprof_*.deb"), place)
    return os.path.join(place, "usr")


def archive():
    """Unpacks the archive and returns its folder, under another name."""
    if os.environ["MEMPROF_ALONE"] != "1":
        raise mp.Skip("no archive is made without the static libraries of scripts/deps.sh package")
    place = mp.fresh("somewhere")
    with tarfile.open(one("*.tar.gz")) as tar:
        tar.extractall(place)
    (top,) = os.listdir(place)
    mine = os.path.join(place, "mine")
    os.rename(os.path.join(place, top), mine)
    return mine


def files(top):
    return sorted(os.path.relpath(os.path.join(folder, name), top) for folder, _, names in os.walk(top) for name in names)


def programs(top):
    """Returns the ELF files of the folder."""
    for name in files(top):
        path = os.path.join(top, name)
        with open(path, "rb") as file:
            if file.read(4) == b"\x7fELF":
                yield path


# ---- contents

def test_packages_are_built():
    shutil.rmtree(MADE, ignore_errors=True)
    output("cpack", "-B", MADE, cwd=BUILD)
    one(f"memprof_{VERSION}-1_amd64.deb")


def test_package_has_all_files():
    top = deb()
    wanted = [*SHARED_BY_ALL, "share/zsh/vendor-completions/_memprof", "share/man/man1/memprof.1.gz", "share/man/man1/memprof-report.1.gz",
              "share/lintian/overrides/memprof", *("share/doc/memprof/" + name for name in ("copyright", "changelog.gz", "changelog.Debian.gz"))]
    mp.equal(files(top), sorted(wanted), "files of the package")
    with gzip.open(os.path.join(top, "share/doc/memprof/changelog.Debian.gz"), "rt") as file:
        mp.equal(file.readline(), f"memprof ({VERSION}-1) unstable; urgency=medium\n", "the first line of its changes")
    with gzip.open(os.path.join(top, "share/doc/memprof/changelog.gz"), "rt") as file:
        mp.check(f"## {VERSION}" in file.read(), "changelog.gz does not know this version")


def test_package_depends_on_the_libraries_that_it_links():
    wanted = set()
    for path in programs(deb()):
        wanted |= set(re.findall(r"NEEDED.*\[(lib[a-z0-9]+)", output("readelf", "-d", path)))
    depends = output("dpkg-deb", "-f", one("memprof_*.deb"), "Depends")
    names = {"libz": "zlib1g", "libc": "libc6", "libm": "libc6", "libsqlite3": "libsqlite3-0"}
    for library in wanted:
        mp.check(re.search(rf"\b{names[library]}(t64)? \(>= ", depends), f"{library} is linked, and not in {depends}")


def test_package_has_a_python_package_that_finds_its_programs():
    top = deb()
    env = {**{k: v for k, v in os.environ.items() if not k.startswith("MEMPROF_")}, "PYTHONPATH": os.path.join(top, "lib/python3/dist-packages")}
    script = "from importlib import metadata; from memprof_report import program; " \
             "print(program.find('memprof-report', 'MEMPROF_REPORT'), metadata.version('memprof-report'))"
    mp.equal(output("python3", "-B", "-c", script, env=env), f"{os.path.realpath(top)}/bin/memprof-report {VERSION}\n", "program and version")


def test_package_recommends_libdw():
    package = one("memprof_*.deb")
    mp.check("libdw" not in output("dpkg-deb", "-f", package, "Depends"), "the package depends on libdw, which memprof-report can do without")
    mp.equal(output("dpkg-deb", "-f", package, "Recommends").strip(), "libdw1" if os.environ["MEMPROF_LIBDW"] == "1" else "", "recommended packages")


def test_package_passes_lintian():
    if not shutil.which("lintian"):
        raise mp.Skip("lintian is not installed")
    mp.equal(output("lintian", "--allow-root", "--no-cfg", "--fail-on=none", one("memprof_*.deb")), "", "lintian's output")


def test_archive_has_all_files():
    found = files(archive())
    wanted = [*SHARED_BY_ALL, "share/zsh/site-functions/_memprof", "share/man/man1/memprof.1", "share/man/man1/memprof-report.1", "share/doc/memprof/LICENSE",
              "share/doc/memprof/inside/README"]
    mp.equal([f for f in wanted if f not in found], [], "files that the archive lacks")
    mp.equal([f for f in found if f not in wanted and not f.startswith("share/doc/memprof/inside/")], [], "files that it has besides")


def test_archive_needs_only_the_c_library():
    for path in programs(archive()):
        needed = set(re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", path)))
        mp.equal(needed - {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}, set(), f"other libraries of {path}")


def test_archive_runs_on_an_old_c_library():
    here = tuple(int(n) for n in os.confstr("CS_GNU_LIBC_VERSION").split()[1].split(".")[:2])
    if here > BUILT_ON:
        raise mp.Skip(f"this machine's C library is {here}: archives are made on one of {BUILT_ON} at most")
    for path in programs(archive()):
        found = {tuple(int(n) for n in v.split(".")) for v in re.findall(r"GLIBC_([0-9.]+)", output("objdump", "-T", path))}
        mp.check(max(found) <= OLDEST_GLIBC, f"{path} wants glibc {max(found)}")


# ---- running them

def works(top):
    """Records a program with the files unpacked at `top`, resolves its functions, and writes a page and a database."""
    logs, report = mp.fresh(), os.path.join(top, "bin/memprof-report")
    env = {k: v for k, v in os.environ.items() if not k.startswith("MEMPROF_")}
    output(os.path.join(top, "bin/memprof"), "run", "-q", "-o", logs, "--stacks=all", "--", mp.victim("stacks"), "malloc", env={**env, "MEMPROF_MIN_RSS": "0"})
    (log,) = glob.glob(logs + "/*.zst")
    stacks = output(report, "peaks", "--by", "stack", "--format", "json", log)
    if os.environ["MEMPROF_LIBDW"] == "1":
        mp.check("main (stacks.c" in stacks, f"no names of functions: {stacks}")
    for command in (["export", "--to", "sqlite", "-o", logs + "/db"], ["html", "-o", logs + "/page.html"]):
        output(report, *command, log)
        mp.check(os.path.getsize(command[-1]) > 0, f"{command} wrote nothing")
    mp.equal(output(report, "--version").split()[-1], VERSION, "the version")


def test_archive_runs_from_another_folder():
    works(archive())


def test_package_runs_unpacked():
    works(deb())


def test_wheel_installs_and_runs():
    archive()
    place = mp.fresh("site")
    pip = [next((python for python in ("python3", "/usr/bin/python3") if subprocess.run([python, "-m", "pip", "--version"], stdout=subprocess.DEVNULL,
                                                                                       stderr=subprocess.DEVNULL).returncode == 0), None), "-m", "pip"]
    if not pip[0]:
        raise mp.Skip("pip is not installed")
    output(*pip, "install", "--quiet", "--no-index", "--target", place, one(f"memprof_report-{VERSION}-*.whl"))
    works(os.path.join(place, "memprof_report"))
    env = {**{k: v for k, v in os.environ.items() if not k.startswith("MEMPROF_")}, "PYTHONPATH": place, "PATH": place + "/bin:" + os.environ["PATH"]}
    mp.equal(output("memprof-report", "--version", env=env), f"memprof-report {VERSION}\n", "output of the installed command")
    logs = mp.fresh()
    output("memprof", "run", "-q", "-o", os.path.join(logs, "run"), "--", "python3", "-c", "import memprof_report\nwith memprof_report.range('step'): x = bytearray(1 << 20)",
           env=env)
    script = "import sys, memprof_report; print(max(row['bytes_at_peak'] for row in memprof_report.open(sys.argv[1], pandas=False).peaks() if row['path'] == ('step',)))"
    mp.within(int(output("python3", "-B", "-c", script, os.path.join(logs, "run"), env=env)), 1 << 20, (1 << 20) + 4096, "bytes of the range")


WHEEL_TESTS = """
import memprof_report
import pytest

@pytest.mark.limit_memory("5 MB")
def test_large():
    bytearray(6 << 20)

def test_measure():
    with memprof_report.measure() as memory:
        bytearray(3 << 20)
    assert 3 << 20 <= memory.peak_bytes["host"] < 4 << 20
"""


def virtual_environment(*modules):
    """Returns the folder of a new virtual environment with the wheel. It also has the distribution's packages."""
    place, debian = mp.fresh("venv"), "/usr/bin/python3"
    missing = [name for name in ("venv", "ensurepip", *modules) if subprocess.run([debian, "-c", f"import {name}"], stderr=subprocess.DEVNULL).returncode]
    if missing:
        raise mp.Skip(f"{debian} has no {' and no '.join(missing)}: scripts/deps.sh try")
    output(debian, "-m", "venv", "--system-site-packages", place)
    output(os.path.join(place, "bin/python"), "-m", "pip", "install", "--quiet", "--no-index", one(f"memprof_report-{VERSION}-*.whl"))
    return place


def in_environment(place, *command, **popen):
    """Runs a command of the virtual environment and returns its status and its output."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("MEMPROF_", "PYTHON", "PYTEST"))}
    env.update(PATH=f"{place}/bin:/usr/bin:/bin", HOME=mp.folder, MPLBACKEND="module://matplotlib_inline.backend_inline", PYDEVD_DISABLE_FILE_VALIDATION="1")
    done = subprocess.run([os.path.join(place, "bin", command[0]), *command[1:]], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=200, **popen)
    return done.returncode, done.stdout + done.stderr


def test_wheel_works_in_a_virtual_environment():
    archive()
    place = virtual_environment("pandas", "pytest")
    script = "import memprof_report; print(memprof_report.__file__, len(memprof_report.open('h100-spike.zst').steps(heap='gpu0/torch')))"
    mp.equal(in_environment(place, "python", "-c", script, cwd=os.path.join(SOURCE, "tests/golden"))[1].split()[-1], "12", "instances")
    with open(os.path.join(mp.folder, "test_some.py"), "w") as file:
        file.write(WHEEL_TESTS)
    status, out = in_environment(place, "python", "-m", "pytest", "-q", "--memprof", cwd=mp.folder)
    mp.check(status == 1 and "1 failed, 1 passed" in out and "test_large allocated up to 6.00 MiB of host memory" in out, out)
    mp.check("6.00 MiB in 1 block: test_large (test_some.py:7)" in out and "memory of the tests" in out, out)
    mp.equal(in_environment(place, "memprof-report", "--version"), (0, f"memprof-report {VERSION}\n"), "installed command")


def test_notebook_runs_in_a_virtual_environment():
    archive()
    place = virtual_environment("pandas", "nbconvert", "ipykernel", "matplotlib")
    notebook = os.path.join(SOURCE, "examples/notebook/analyses.ipynb")
    status, out = in_environment(place, "python", "-m", "ipykernel", "install", "--sys-prefix")      # Debian's kernel is /usr/bin/python3
    mp.equal(status, 0, f"{out}: status")
    status, out = in_environment(place, "python", "-m", "nbconvert", "--to", "notebook", "--execute", "--stdout", notebook)
    mp.check(status == 0 and "step:7 has 848.0 MiB more than step:" in out, out[-3000:])


def recipe():
    """Returns the instructions of each stage of the container's recipe."""
    with open(os.path.join(SOURCE, "packaging/Dockerfile")) as file:
        lines = [line.split(None, 1) for line in file.read().splitlines() if line and not line.startswith("#")]
    stages = []
    for word, rest in lines:
        if word == "FROM":
            stages.append([])
        elif stages:
            stages[-1].append((word, rest))
    return stages


def test_container_image_contains_the_unpacked_archive():
    """The last stage copies the folder into which the stage before it unpacks the archive, and starts one of its
    programs."""
    archive()
    _, build, last = recipe()
    place = os.path.join(mp.folder, "opt")
    unpack = [rest for word, rest in build if word == "RUN"][-1]
    for there, here in (("build/release/packages", MADE), ("/opt/memprof", place)):
        mp.check(there in unpack, f"{unpack} does without {there}")
        unpack = unpack.replace(there, here)
    output("sh", "-e", "-c", unpack)
    mp.check(("COPY", "--from=build /opt/memprof /opt/memprof") in last, f"{last} does not copy it")
    works(place)
    path = dict(last)["ENV"].split("=")[1].split(":")[0].replace("/opt/memprof", place)
    (program, *arguments) = json.loads(dict(last)["ENTRYPOINT"])
    logs = mp.fresh()
    os.chmod(logs, 0o777)       # like the root folder of a mounted disk
    output(os.path.join(path, program), *(a.replace("/logs", logs) for a in arguments), mp.victim("stacks"), "malloc", env={**os.environ, "MEMPROF_MIN_RSS": "0"})
    mp.equal(len(glob.glob(logs + "/run/*.zst")), 1, "logs")


# ---- running them in roots

def killed_in(root, memprof):
    """Records the demo's program in a root. SIGKILL ends it when it renders its third region."""
    shutil.copy(os.path.join(SOURCE, "examples/orders.py"), root)
    shutil.copy(os.path.join(BUILD, "tests/packages/libnvtx_emit.so"), root)
    program = 'echo $$ && exec "$@"'
    run = subprocess.Popen(roots.inside(root, memprof, "run", "-q", "-o", "/logs", "--", "sh", "-c", program, "sh", "python3", "/orders.py", "/libnvtx_emit.so"),
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    pid = int(run.stdout.readline())
    for line in run.stdout:
        if "region south" in line:
            os.kill(pid, signal.SIGKILL)
    mp.equal(run.wait(mp.TIMEOUT), 128 + signal.SIGKILL, "status of memprof run")


def demo(root, memprof="memprof"):
    shutil.rmtree(os.path.join(root, "logs"), ignore_errors=True)
    killed_in(root, memprof)
    peaks = json.loads(roots.run(root, memprof + "-report", "peaks", "--format", "json", "/logs"))
    log = max(peaks["logs"], key=lambda log: log["events"])
    heap = next(h for h in log["heaps"] if h["heap"] == "host/heap")
    for region in ("north", "east"):
        held = next(r for r in heap["ranges"] if r["path"] == ["report", "region " + region, "page cache"])
        mp.check(held["bytes_at_peak"] > 100 << 20, f"region {region} holds {held}")
    mp.equal((log["lost_events"], log["recovered_from_journal"]), (0, True), "lost events, and whether the journal was taken")


def in_root(suite):
    root = roots.made(suite)
    before = set(roots.run(root, "dpkg-query", "-W", "-f", "${Package}\n").split())
    if "memprof" in before:         # left by a test that was killed
        roots.run(root, "dpkg", "--purge", "memprof")
    shutil.copy(one("memprof_*.deb"), os.path.join(root, "memprof.deb"))
    roots.run(root, "dpkg", "-i", "/memprof.deb")
    demo(root)
    roots.run(root, "dpkg", "--purge", "memprof")
    left = roots.run(root, "find", "/usr", "/etc", "-name", "*memprof*").split()
    mp.equal(left, [], "files that remain after removal")
    tree = archive()
    shutil.rmtree(os.path.join(root, "opt/mine"), ignore_errors=True)
    shutil.copytree(tree, os.path.join(root, "opt/mine"))
    demo(root, "/opt/mine/bin/memprof")


def slow_packages_install_and_run_in_debian_12():
    in_root("bookworm")


def slow_packages_install_and_run_in_debian_13():
    in_root("trixie")


def slow_packages_install_and_run_in_ubuntu_24_04():
    in_root("noble")


if __name__ == "__main__":
    mp.main()
