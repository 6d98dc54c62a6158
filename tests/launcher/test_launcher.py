"""memprof run refuses invalid use, passes signals and variables on, and returns the status of the command."""
import contextlib
import ctypes
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import termios

import mp

PYTHON = os.path.realpath(sys.executable)
FAILED, USAGE, NOT_EXECUTABLE, NOT_FOUND, SIGNAL = 1, 2, 126, 127, 128
NOBODY = 65534
MIB, GIB = 1 << 20, 1 << 30


def memprof(*arguments, env=None, launcher=None, **popen):
    """Runs the launcher in the test's folder and returns a subprocess.CompletedProcess with text."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("MEMPROF_") or k == "MEMPROF_LIB"}
    clean.pop("LD_PRELOAD", None)
    return subprocess.run([launcher or os.environ["MEMPROF"], *arguments], env={**clean, **(env or {})}, cwd=mp.folder, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=mp.TIMEOUT, **popen)


def start(*command, preexec_fn=os.setpgrp):
    """Starts a command under the launcher, by default in a separate process group, with its output in a pipe."""
    return subprocess.Popen([os.environ["MEMPROF"], "run", "-q", "-o", "logs", "--", *command], cwd=mp.folder, stdout=subprocess.PIPE,
                            text=True, preexec_fn=preexec_fn)


def path(name):
    return os.path.join(mp.folder, name)


def make(name, text, mode=0o755):
    with open(path(name), "w") as f:
        f.write(text)
    os.chmod(path(name), mode)
    return path(name)


def refused(result, status, words):
    mp.equal(result.returncode, status, f"status ({result.stderr})")
    mp.check(words in result.stderr, f"{words!r} is not in: {result.stderr}")
    mp.check(result.stdout == "", f"the program ran: {result.stdout}")


def test_exit_status_is_that_of_the_command():
    for status in (0, 1, 7, 255):
        mp.equal(memprof("run", "--", "sh", "-c", f"exit {status}").returncode, status, "status")


def test_exit_status_names_the_signal_of_the_command():
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGINT):
        result = memprof("run", "--", "sh", "-c", f"kill -{int(number)} $$")
        mp.equal(result.returncode, SIGNAL + number, "status")
        mp.check(f"was ended by {number.name}" in result.stderr, result.stderr)


def test_missing_commands_are_refused():
    refused(memprof("run", "--", "no-such-command"), NOT_FOUND, "command not found")
    refused(memprof("run", "--", "./no-such-command"), NOT_FOUND, "No such file")
    refused(memprof("run", "--", make("script", "#!/no/such/interpreter\n")), NOT_FOUND, "/no/such/interpreter")


def test_files_that_cannot_be_executed_are_refused():
    refused(memprof("run", "--", mp.folder), NOT_EXECUTABLE, "Permission denied")
    refused(memprof("run", "--", make("plain", "echo ran\n", 0o644)), NOT_EXECUTABLE, "Permission denied")
    refused(memprof("run", "--", "plain", env={"PATH": mp.folder}), NOT_EXECUTABLE, "Permission denied")


def test_static_programs_are_refused():
    refused(memprof("run", "--", mp.victim("static_program")), FAILED, "statically linked")
    script = make("script", f"#!{mp.victim('static_program')}\necho ran\n")
    refused(memprof("run", "--", script), FAILED, "static_program is statically linked")
    mp.equal(os.listdir(mp.folder), ["script"], "files after a refusal")


def test_musl_programs_are_refused():
    program = mp.victim("musl_program")
    if not os.path.exists(program):
        raise mp.Skip("musl-gcc is not installed")
    mp.equal(subprocess.run([program], timeout=mp.TIMEOUT).returncode, 0, "status without memprof")
    refused(memprof("run", "--", program), FAILED, "musl_program is built for musl, whose loader cannot load libmemprof.so; build it for glibc")
    refused(memprof("run", "--", make("script", f"#!{program}\n")), FAILED, "musl_program is built for musl")


def as_root():
    if os.getuid() != 0:
        raise mp.Skip("only root can make a file of another user")


def secure_copy():
    """Copies true(1) into a folder that everybody can read."""
    os.chmod(mp.folder, 0o755)
    if os.statvfs(mp.folder).f_flag & os.ST_NOSUID:
        raise mp.Skip("the folder is mounted nosuid")
    return shutil.copy(shutil.which("true"), path("program"))


def test_setuid_programs_are_refused():
    as_root()
    program = secure_copy()
    os.chown(program, NOBODY, -1)
    os.chmod(program, 0o4755)
    refused(memprof("run", "--", program), FAILED, "setuid")
    os.chown(program, 0, NOBODY)
    os.chmod(program, 0o2755)
    refused(memprof("run", "--", program), FAILED, "setgid")


def test_setuid_program_of_the_same_user_is_recorded():
    program = secure_copy()
    os.chmod(program, 0o4755)
    mp.equal(memprof("run", "--", program).returncode, 0, "status")


def test_programs_with_capabilities_are_refused():
    as_root()
    program = secure_copy()
    if not shutil.which("setcap") or subprocess.run(["setcap", "cap_net_raw+ep", program], stderr=subprocess.DEVNULL).returncode != 0:
        raise mp.Skip("no file capabilities here")
    for file in ("MEMPROF", "MEMPROF_LIB"):        # so that another user can read them
        shutil.copy(os.environ[file], mp.folder)
    result = memprof("run", "--", program, launcher=path(os.path.basename(os.environ["MEMPROF"])),
                     env={"MEMPROF_LIB": path("libmemprof.so")}, preexec_fn=lambda: os.setuid(NOBODY))
    refused(result, FAILED, "file capabilities")


def test_program_with_its_own_malloc_is_warned_about():
    result = memprof("run", "-o", "logs", "--", mp.victim("own_malloc"))
    mp.equal(result.returncode, 0, "status")
    mp.equal(result.stderr.count("malloc instead of"), 1, f"warnings: {result.stderr}")
    mp.check("own_malloc provides malloc instead of libmemprof.so: its blocks are not recorded, everything else is" in result.stderr, result.stderr)
    mp.check("1 log in logs" in result.stderr, result.stderr)
    report = subprocess.run([os.environ["MEMPROF_REPORT"], "peaks", path("logs")], stdout=subprocess.PIPE, text=True, timeout=mp.TIMEOUT).stdout
    mp.check("host/heap is not recorded: the program uses the malloc of own_malloc; memory that it maps is in host/mmap\n" in report, report)
    mp.check("serves malloc" not in memprof("run", "--", "true").stderr, "true(1) has no malloc")


def test_mappings_of_a_linked_allocator_are_recorded():
    if not os.path.exists(mp.victim("own_jemalloc")):
        raise mp.Skip("libjemalloc_pic.a is not installed")
    result = memprof("run", "-o", "logs", "--", mp.victim("own_jemalloc"))
    mp.equal(result.returncode, 0, "status")
    mp.equal(result.stderr.count("its blocks are not recorded"), 1, f"warnings: {result.stderr}")
    log = mp.Logs(path("logs")).one()
    heap, = log.json["heaps"]
    mp.equal((log.json["unseen_malloc"], heap["heap"]), ("own_jemalloc", "host/mmap"), "the allocator, and the only heap")
    mp.within(heap["peak_bytes"], GIB * 10 + MIB * 64, GIB * 10 + MIB * 128, "mapped bytes")
    mp.within(heap["touched_at_most_bytes"], MIB * 68, MIB * 128, "touched bytes")
    report = subprocess.run([os.environ["MEMPROF_REPORT"], path("logs")], stdout=subprocess.PIPE, text=True, timeout=mp.TIMEOUT).stdout
    mp.check("the program uses the malloc of own_jemalloc; memory that it maps is in host/mmap\n" in report, report)
    mp.check(re.search(r"host/mmap: at most \d+\.\d+ MiB of 10\.\d+ GiB was resident", report), report)


def chromium(*before):
    """Returns the document that Chromium makes of a page with scripts."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if not program:
        raise mp.Skip("chromium is not installed")
    make("page.html", "<p id=p>-</p><script>document.getElementById('p').textContent = [1, 2, 3].map(n => n * 7).join()</script>", 0o644)
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
               "--disable-component-update", "--disable-sync", f"--user-data-dir={tempfile.mkdtemp(dir=mp.folder)}", "--dump-dom"]
    done = subprocess.run([*before, program, *options, f"file://{path('page.html')}"], cwd=mp.folder, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=mp.TIMEOUT)
    return done.returncode, done.stdout


def test_chromium_renders_a_page_under_memprof():
    """Chromium's malloc names its mappings under its lock, and Chromium starts a tree of processes."""
    expected = chromium()
    if expected[0] != 0 or b"7,14,21" not in expected[1]:
        raise mp.Skip("chromium draws no page here by itself")
    mp.equal(chromium(os.environ["MEMPROF"], "run", "-q", "-o", "logs", "--"), expected, "the page")
    mp.check(len(os.listdir(path("logs"))) > 1, "logs of its processes")


def test_user_entries_of_ld_preload_follow_memprof():
    other = shutil.copy(mp.library(), path("libother.so"))
    result = memprof("run", "--", "sh", "-c", "echo $LD_PRELOAD", env={"LD_PRELOAD": other})
    mp.equal(result.stdout, f"{mp.library()}:{other}\n", "LD_PRELOAD")


def preloaded_with(name):
    """Returns LD_PRELOAD if the user preloads a library of that name, with all companions next to libmemprof.so."""
    library = shutil.copy(mp.library(), path("libmemprof.so"))
    for allocator in ("jemalloc", "mimalloc", "tcmalloc"):
        make(f"libmemprof-{allocator}.so", "")
    make(name, "")
    shell = memprof("run", "--", "sh", "-c", "echo $LD_PRELOAD", env={"MEMPROF_LIB": library, "LD_PRELOAD": path(name)})
    return [os.path.basename(entry) for entry in shell.stdout.strip().split(":")]


def test_preloaded_allocator_gets_its_companion_library():
    mp.equal(preloaded_with("libjemalloc.so.2"), ["libmemprof.so", "libmemprof-jemalloc.so", "libjemalloc.so.2"], "jemalloc")
    mp.equal(preloaded_with("libtcmalloc_minimal.so.4"), ["libmemprof.so", "libmemprof-tcmalloc.so", "libtcmalloc_minimal.so.4"], "tcmalloc")
    mp.equal(preloaded_with("libmimalloc.so.2.0"), ["libmemprof.so", "libmemprof-mimalloc.so", "libmimalloc.so.2.0"], "mimalloc")
    mp.equal(preloaded_with("libother.so"), ["libmemprof.so", "libother.so"], "no allocator")


ALLOCATES_C = """
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    void *volatile block[100];
    for (int i = 0; i < 100; i++) block[i] = malloc(5000);
    for (int i = 0; i < 100; i++) free(block[i]);
    puts(getenv("ASAN_OPTIONS") ? getenv("ASAN_OPTIONS") : "");
    return 3;
}
"""
ALLOCATES_CXX = """
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>
int main()
{
    std::vector<std::unique_ptr<char[]>> block;
    for (int i = 0; i < 100; i++) block.emplace_back(new char[5000]);
    try { throw 3; } catch (int status) {
        std::puts(std::getenv("ASAN_OPTIONS") ? std::getenv("ASAN_OPTIONS") : "");
        return status;
    }
}
"""


def sanitized(name, text, compiler):
    """Builds a program with gcc's AddressSanitizer, whose library checks that it is loaded first."""
    source, program = make(name, text), path(name.split(".")[0])
    if not shutil.which(compiler) or subprocess.run([compiler, "-fsanitize=address", source, "-o", program], stderr=subprocess.DEVNULL).returncode:
        raise mp.Skip(f"{compiler} -fsanitize=address does not work here")
    mp.equal(subprocess.run([program], stdout=subprocess.DEVNULL).returncode, 3, "status without memprof")
    return program


def test_programs_with_address_sanitizer_run_and_are_recorded():
    for name, text, compiler in (("c.c", ALLOCATES_C, "gcc"), ("cxx.cc", ALLOCATES_CXX, "g++")):
        program = sanitized(name, text, compiler)
        result = memprof("run", "-o", f"logs.{name}", "--", program)
        mp.equal((result.returncode, result.stdout), (3, "verify_asan_link_order=0\n"), f"status and output ({result.stderr})")
        log = mp.Logs(path(f"logs.{name}")).one()
        mp.check(log.heap()["allocations"] >= 100 and log.heap()["peak_bytes"] >= 500000, f"{log.heap()}")


def test_user_options_of_address_sanitizer_are_kept():
    program = sanitized("c.c", ALLOCATES_C, "gcc")
    for options, expected in (("detect_leaks=0", "detect_leaks=0:verify_asan_link_order=0"),
                              ("verify_asan_link_order=false:detect_leaks=0", "verify_asan_link_order=false:detect_leaks=0")):
        result = memprof("run", "--", program, env={"ASAN_OPTIONS": options})
        mp.equal((result.returncode, result.stdout), (3, expected + "\n"), f"status and output ({result.stderr})")
    refused = memprof("run", "--", program, env={"ASAN_OPTIONS": "verify_asan_link_order=1"})
    mp.equal((refused.returncode, refused.stdout), (1, ""), "a setting of the user's is not changed")
    other = memprof("run", "--", "sh", "-c", "echo ${ASAN_OPTIONS-unset}")
    mp.equal(other.stdout, "unset\n", "ASAN_OPTIONS of a program without AddressSanitizer")


def test_program_with_a_preloaded_address_sanitizer_runs():
    library = subprocess.run(["gcc", "-print-file-name=libasan.so"], stdout=subprocess.PIPE, text=True).stdout.strip() if shutil.which("gcc") else ""
    if not os.path.isabs(library):
        raise mp.Skip("gcc's libasan.so is not here")
    result = memprof("run", "--", PYTHON, "-S", "-c", "print('ran')", env={"LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0"})
    mp.equal((result.returncode, result.stdout), (0, "ran\n"), f"status and output ({result.stderr})")


def preloaded_for(*command, options=(), env=None):
    """Returns the files in LD_PRELOAD that a shell gets, with libmemprof-cuda.so next to libmemprof.so and a library of
    the user."""
    library = shutil.copy(mp.library(), path("libmemprof.so"))
    make("libmemprof-cuda.so", "")
    make("libother.so", "")
    shell = memprof("run", *options, "--", *command, "-c", "echo $LD_PRELOAD",
                    env={"MEMPROF_LIB": library, "LD_PRELOAD": path("libother.so"), **(env or {})})
    return [os.path.basename(entry) for entry in shell.stdout.strip().split(":")]


def test_cuda_interpose_preloads_its_library():
    usual = ["libmemprof.so", "libother.so"]
    mp.equal(preloaded_for("sh"), usual, "by default")
    mp.equal(preloaded_for("sh", options=["--cuda=cupti"], env={"MEMPROF_CUDA": "interpose"}), usual, "the option before the variable")
    by_name = [*usual, "libmemprof-cuda.so"]
    mp.equal(preloaded_for("sh", options=["--cuda=interpose"]), by_name, "asked for")
    mp.equal(preloaded_for("sh", env={"MEMPROF_CUDA": "interpose"}), by_name, "asked for by the variable")
    mp.equal(preloaded_for("sh", env={"NSYS_PROFILING_SESSION_ID": "106073"}), by_name, "inside nsys")
    mp.equal(preloaded_for("sh", options=["--cuda=off"], env={"NSYS_PROFILING_SESSION_ID": "106073"}), usual, "inside nsys, without CUDA")
    os.symlink("/bin/sh", path("nsys"))
    mp.equal(preloaded_for(path("nsys")), by_name, "around nsys")


def test_library_path_with_a_space_or_colon_is_refused():
    for name in ("with space", "with:colon"):
        os.mkdir(path(name))
        library = shutil.copy(mp.library(), path(name))
        refused(memprof("run", "--", "echo", "ran", env={"MEMPROF_LIB": library}), FAILED, "make a link")
        link = path("link")
        os.symlink(path(name), link)
        mp.equal(memprof("run", "--", "true", env={"MEMPROF_LIB": os.path.join(link, "libmemprof.so")}).returncode, 0, "by a link")
        os.unlink(link)
    refused(memprof("run", "--", "echo", "ran", env={"MEMPROF_LIB": "/no/such.so"}), FAILED, "MEMPROF_LIB")


def test_options_are_passed_as_environment_variables():
    options = ["--run-id=job 7", "--level=3", "--program=so*", "--min-rss=1M", "--stacks=sample", "--python=off", "--torch-ranges=ops", "--cuda=off",
               f"--journal-dir={mp.folder}", "-q", "-o", "to 100%"]
    result = memprof("run", *options, "--", "sh", "-c", "env | grep ^MEMPROF_ | grep -v ^MEMPROF_LIB | sort")
    lines = [line for line in result.stdout.splitlines() if not line.startswith("MEMPROF_ROOT=")]
    mp.equal(lines, ["MEMPROF_CUDA=off", f"MEMPROF_JOURNAL_DIR={mp.folder}", "MEMPROF_LEVEL=3", "MEMPROF_MIN_RSS=1M",
                     f"MEMPROF_OUT={path('to 100%%')}/%e.%h.%p.zst", "MEMPROF_PROGRAM=so*", "MEMPROF_PYTHON=off",
                     "MEMPROF_QUIET=1", "MEMPROF_RUN=job_7", "MEMPROF_STACKS=sample", "MEMPROF_SUMMARY=0", "MEMPROF_TORCH_RANGES=ops"], "variables")
    mp.equal(result.stderr, "", "words of a quiet run")
    mp.equal(len(mp.Logs(path("to 100%")).paths()), 1, "logs")


def test_error_about_an_invalid_value_names_the_option():
    for option, value in (("level", "99"), ("level", "0"), ("level", "-"), ("min-rss", "12Q"), ("min-rss", ""), ("min-rss", "-1"),
                          ("min-rss", "99999999999T"), ("stacks", "samples"), ("stacks", "large|sample"), ("stacks", ""), ("python", "2"),
                          ("torch-ranges", "all"), ("host", "large:0"), ("host", "large:0K"), ("host", "small"), ("python", "small:"), ("python", "small:0"), ("stacks", "sample:0"), ("stacks", "large:4K"), ("python", "small:65M"), ("python", "on:4K"), ("run-id", ""), ("run-id", 128 * "a")):
        result = memprof("run", f"--{option}={value}", "--", "echo", "ran")
        refused(result, USAGE, f"invalid --{option} '{value}': expected ")
        mp.check("MEMPROF_" not in result.stderr, result.stderr)
    words = [("host", ("all", "large", "large:8K", "off")), ("stacks", ("off", "large", "sample", "sample:64K", "all")), ("python", ("on", "small", "small:64K", "off")), ("torch-ranges", ("on", "ops", "off")),
             ("cuda", ("cupti", "interpose", "off"))]
    for option in ["--level=-9", "--min-rss=0", "--min-rss=3g", "--min-rss=1MiB"] + [f"--{name}={word}" for name, of in words for word in of]:
        result = memprof("run", option, "--", "echo", "ran")
        mp.equal((result.returncode, result.stdout), (0, "ran\n"), option)
        mp.check("invalid " not in result.stderr, result.stderr)


def test_summary_has_a_line_for_each_of_a_few_processes():
    result = memprof("run", "-o", "logs", "--min-rss=0", "--", "sh", "-c", "cat </dev/null; true")
    lines = result.stderr.splitlines()
    process_lines = [line for line in lines if re.fullmatch(r"memprof: logs/\S+\.zst: [0-9,]+ events, peak RSS [0-9.]+ MiB, 0 lost, [0-9.]+ (B|KiB)", line)]
    mp.equal((len(process_lines), len(lines)), (2, 5), f"lines about processes, and all, of {result.stderr}")


def test_summary_of_many_processes_is_one_line():
    result = memprof("run", "-o", "logs", "--min-rss=0", "--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8; do cat </dev/null; done")
    lines = result.stderr.splitlines()
    mp.equal(len(lines), 3, f"lines of {result.stderr}")
    mp.check(re.fullmatch(r"memprof: 9 logs in logs; the largest is \S+ \([0-9.]+ KiB\); the highest peak RSS is [0-9.]+ MiB \(\S+\)", lines[1]), lines[1])
    result = memprof("run", "-o", "killed", "--min-rss=0", "--", "sh", "-c", "for i in 1 2 3 4 5; do cat </dev/null; done; kill -9 $$")
    mp.check("6 logs in killed, 1 completed" in result.stderr and "the highest" not in result.stderr, f"the peak of a killed process is unknown: {result.stderr}")
    result = memprof("run", "-o", "more", "--min-rss=0", "--", "sh", "-c", "cat </dev/null", env={"MEMPROF_SUMMARY": "1"})
    mp.check(" next: memprof-report " in result.stderr.splitlines()[0], f"the users' own wish: {result.stderr}")
    mp.equal(sum(" events, " in line for line in result.stderr.splitlines()), 1, f"lines about processes of {result.stderr}")


def test_summary_does_not_count_logs_of_running_processes():
    """The process stays small, so its log is removed when it ends."""
    result = memprof("run", "-o", "logs", "--", "sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!; until ls logs/sleep.*; do :; done >/dev/null 2>&1")
    try:
        mp.check("memprof: 1 log in logs, 1 more of processes that still run; the largest is sh." in result.stderr, result.stderr)
    finally:
        os.kill(int(result.stdout), signal.SIGTERM)


def test_journal_directory_can_be_relative():
    os.mkdir(path("journals"))
    result = memprof("run", "--journal-dir=journals", "--", "sh", "-c", "echo $MEMPROF_JOURNAL_DIR; test -e journals/*$$* && echo used")
    mp.equal(result.stdout, f"{path('journals')}\nused\n", "the journals' folder and its use")
    refused(memprof("run", "--journal-dir=missing", "--", "echo", "ran"), FAILED, "missing: No such file")


def test_one_directory_holds_the_logs_of_all_processes():
    script = "cd / && python3 -c 'import os; os.fork() or os._exit(0); os.wait()'; true"
    result = memprof("run", "-o", "logs", "--min-rss=0", "--", "sh", "-c", script,
                     env={"PATH": os.path.dirname(PYTHON) + ":" + os.environ["PATH"]})
    logs = mp.Logs(path("logs")).paths()
    mp.equal(len(logs), 3, f"logs {logs}")
    mp.check("3 logs in logs; the largest is python" in result.stderr, result.stderr)
    mp.check("next: memprof-report logs\n" in result.stderr, result.stderr)
    result = memprof("run", "-o", "a b'c", "--", "sh", "-c", "true")
    mp.check("next: memprof-report 'a b'\\''c'\n" in result.stderr, f"the path is not quoted for a shell: {result.stderr}")


def test_default_directory_is_named_after_the_program():
    result = memprof("run", "--", "true")
    directory, = os.listdir(mp.folder)
    mp.check(directory.startswith("memprof.true."), directory)
    mp.check(f"next: memprof-report {directory}\n" in result.stderr, result.stderr)


def test_directory_with_other_files_is_refused():
    os.mkdir(path("logs"))
    make("logs/notes.txt", "")
    refused(memprof("run", "-o", "logs", "--", "echo", "ran"), FAILED, "notes.txt")
    refused(memprof("run", "-o", "no/such", "--", "echo", "ran"), FAILED, "no/such")


def test_failure_to_make_a_directory_suggests_the_output_option():
    command = f"mkdir gone && cd gone && rmdir ../gone && exec {os.environ['MEMPROF']} run -- echo ran"
    result = subprocess.run(["sh", "-c", command], cwd=mp.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=mp.TIMEOUT)
    refused(result, FAILED, "No such file or directory; choose another directory with -o DIR")


def test_directory_with_logs_accepts_another_run():
    for run in (1, 2):
        result = memprof("run", "-o", "logs", "--", "true")
        mp.equal(result.returncode, 0, f"status ({result.stderr})")
        mp.check("1 log in logs" in result.stderr, f"only the new log counts: {result.stderr}")
        mp.equal(len(mp.Logs(path("logs")).paths()), run, "logs")
        for log in mp.Logs(path("logs")).paths():
            os.utime(log, (0, 0))


def run_ids(*arguments, times=1, env=None):
    """Starts launchers one by one, and returns the MEMPROF_RUN that each gives its command."""
    ids = [memprof("run", "-q", *arguments, "--", "sh", "-c", "echo $MEMPROF_RUN", env=env).stdout.strip() for _ in range(times)]
    return ids[0] if times == 1 else ids


def test_each_run_has_a_unique_id():
    first, second = run_ids(times=2)
    mp.check(first and second and first != second, f"{first} {second}")
    interactive = {"SLURM_JOB_ID": "17", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1"}
    for env in ({"SLURM_JOB_ID": "17"}, interactive, {"TORCHELASTIC_RUN_ID": ""}, {"RANK": "3"}):
        first, second = run_ids(times=2, env=env)
        mp.check(first != second, f"two runs in {env} are one")


def test_launchers_of_one_job_share_the_run_id():
    slurm = {"SLURM_JOB_ID": "17", "SLURM_STEP_ID": "2", "SLURM_STEP_NUM_TASKS": "8"}
    for env, expected in ((slurm, "slurm.17.2"), ({**slurm, "SLURM_RESTART_COUNT": "1"}, "slurm.17.2.restart1"),
                          ({**slurm, "PMIX_NAMESPACE": "prterun-n01-99@1"}, "pmix.prterun-n01-99@1"),
                          ({"TORCHELASTIC_RUN_ID": "7be1"}, "torchrun.7be1"), ({"PALS_APID": "a b"}, "pals.a_b"),
                          ({**slurm, "MEMPROF_RUN": "mine"}, "mine")):
        mp.equal(run_ids(env=env), expected, f"id in {env}")
    for env in ({"TORCHELASTIC_RUN_ID": "none"}, {"PMI_RANK": "0"}):       # both were started by this process
        first, second = run_ids(times=2, env=env)
        mp.equal(first, second, f"ids in {env}")
    mp.equal(run_ids("--run-id=given", env={**slurm, "MEMPROF_RUN": "mine"}), "given", "id that is given")
    mp.equal(run_ids("--run-id=outer", "--", os.environ["MEMPROF"], "run", "-o", "inner"), "outer", "id of a run inside")


def header(log):
    info = subprocess.run([os.environ["MEMPROF_REPORT"], "log", "info", log], stdout=subprocess.PIPE, text=True, timeout=mp.TIMEOUT, check=True)
    return dict(line.split(" = ", 1) for line in map(str.strip, info.stdout.splitlines()) if " = " in line)


def test_every_log_has_the_id_of_its_run():
    memprof("run", "-o", "logs", "--run-id=seven", "--min-rss=0", "--", "sh", "-c", "/bin/true; /bin/true")
    logs = mp.Logs(path("logs")).paths()
    mp.check(len(logs) == 3, f"{logs}")
    mp.equal({header(log)["run"] for log in logs}, {"seven"}, "ids")
    subprocess.run(["/bin/true"], env=mp.environment(mp.folder), check=True)
    mp.check("run" not in header(mp.Logs(mp.folder).one().path), "a log without the launcher has an id")


HOLDS = "import os, sys; x = bytearray(int(sys.argv[1]) << 20); os.kill(os.getpid(), int(sys.argv[2])) if len(sys.argv) > 2 else None"


def two_runs():
    """Makes two runs in one directory. The processes of the first run are older and larger."""
    for name, size in (("first", 60), ("second", 20)):
        result = memprof("run", "-o", "logs", f"--run-id={name}", "--min-rss=0", "--", "sh", "-c",
                         f'{PYTHON} -S -c "{HOLDS}" {size}; {PYTHON} -S -c "{HOLDS}" {size} 9; true')
        mp.equal(result.returncode, 0, f"status ({result.stderr})")
        mp.check("3 logs in logs" in result.stderr and "1 completed from the journal" in result.stderr, f"logs of the other run count: {result.stderr}")


def report_of(*arguments):
    done = subprocess.run([os.environ["MEMPROF_REPORT"], *arguments], cwd=mp.folder, stdout=subprocess.PIPE, text=True, timeout=mp.TIMEOUT)
    return json.loads(done.stdout) if "json" in arguments else done.stdout


def has_a_process_of_60_mib(text):
    """Checks the columns largest and host/heap. 60.4 ms or an RSS of 60.12 MiB do not match."""
    return re.search(r" 60\.\d\d MiB +60\.\d\d MiB ", text) is not None


def test_processes_report_shows_runs_separately():
    two_runs()
    text = report_of("processes", "logs")
    mp.check(text.startswith("2 runs, shown separately\n"), text)
    runs = re.split(r"^run (\w+), began at .*$", text, flags=re.M)[1:]
    mp.equal(runs[::2], ["first", "second"], "runs")
    for part in runs[1::2]:
        mp.check("3 processes, 3 logs; " in part, part)
    mp.check(has_a_process_of_60_mib(runs[1]) and not has_a_process_of_60_mib(runs[3]), text)
    report = report_of("processes", "--format", "json", "logs")
    mp.equal([run["run"] for run in report["runs"]], ["first", "second"], "runs")
    for log in report["logs"]:
        if log["parent"] is not None:
            mp.equal(report["logs"][log["parent"]]["process"]["run"], log["process"]["run"], "run of the parent")
    one = report_of("processes", "--run=second", "logs")
    mp.check(one.startswith("3 processes, 3 logs; ") and not has_a_process_of_60_mib(one), one)


def test_concurrent_runs_keep_their_exit_statuses_in_one_record():
    """Two launchers append to memprof.run in turn, then a third one on another host."""
    for number in (9, 15):
        memprof("run", "-q", "-o", "logs", f"--run-id=signal{number}", "--", PYTHON, "-S", "-c", f"import os; os.kill(os.getpid(), {number})")
    with open(path("logs/memprof.run")) as f:
        lines = f.read().splitlines()
    starts = [line for line in lines if line.startswith("run ")]
    ends = [line for line in lines if not line.startswith("run ")]
    mp.equal((len(starts), len(ends)), (2, 2), "lines")
    with open(path("logs/memprof.run"), "w") as f:
        f.write("\n".join([*starts, starts[1].replace("host=", "host=elsewhere."), *reversed(ends)]) + "\n")
    deaths = {log["process"]["run"]: log["death"]["signal"] for log in report_of("processes", "--format", "json", "logs")["logs"]}
    mp.equal(deaths, {"signal9": 9, "signal15": 15}, "deaths")


def test_oom_compares_the_processes_of_one_run():
    two_runs()
    report = report_of("oom", "--format", "json", "logs")
    runs = {log["path"]: log["process"]["run"] for log in report["logs"]}
    mp.equal(len(runs), 6, "logs")
    if report["first_failure"] is None:
        raise mp.Skip("this kernel does not tell how a process ended")
    mp.equal(report["first_failure"]["failed_processes"], 1, "processes that failed, of one run")
    mp.equal({runs[process["path"]] for process in report["first_failure"]["processes"]}, {"second"}, "runs of what is compared")
    text = report_of("oom", "logs")
    mp.check(text.startswith("logs of 2 runs; only the processes of the newest one that failed are compared\nrun second, began at "), text)
    mp.check("1 of 3 processes failed" in text, text)


def test_user_template_of_the_log_path_is_kept():
    result = memprof("run", "--", "true", env={"MEMPROF_OUT": path("mine.zst"), "MEMPROF_QUIET": "1"})
    mp.equal(os.listdir(mp.folder), ["mine.zst"], "files")
    mp.check("status 0" in result.stderr and "next" not in result.stderr, result.stderr)


def test_run_without_logs_leaves_no_directory():
    result = memprof("run", "--program=nothing", "--", "true")
    mp.check("no process left a log" in result.stderr, result.stderr)
    mp.equal(os.listdir(mp.folder), [], "files")
    os.mkdir(path("users"))
    memprof("run", "-o", "users", "--program=nothing", "--", "true")
    mp.equal(os.listdir(mp.folder), ["users"], "a directory that was there before")
    mp.equal(os.listdir(path("users")), [], "files in the user's folder")


def test_journals_of_killed_processes_are_merged_into_their_logs():
    kill = "kill -9 $$"
    result = memprof("run", "-o", "folded", "--", "sh", "-c", kill)
    mp.check(" 1 completed from the journal (killed, or ended by exit_group)" in result.stderr, result.stderr)
    mp.equal(len(mp.Logs(path("folded")).journals()), 0, "journals")
    memprof("run", "-o", "left", "--no-recover", "--", "sh", "-c", kill)
    mp.equal(len(mp.Logs(path("left")).journals()), 1, "journals with --no-recover")


def test_digest_option_writes_digests():
    run = "run", "-o", "logs", "--min-rss=0"
    mp.equal(memprof(*run, "--", "true").returncode, 0, "status")
    mp.equal([n for n in os.listdir(path("logs")) if n.endswith(".digest")], [], "digests without --digest")
    before = set(os.listdir(path("logs")))
    result = memprof(*run, "--digest", "--", "sh", "-c", "cat </dev/null; exit 7")
    mp.equal(result.returncode, 7, f"status ({result.stderr})")
    logs = [n for n in os.listdir(path("logs")) if n.endswith(".zst") and n not in before]
    if "built without SQLite" in result.stderr:
        return
    missing = {n + ".digest" for n in logs} - set(os.listdir(path("logs")))
    mp.equal(missing, set(), "digests that are missing")
    for name in set(os.listdir(path("logs"))):      # remaining files of the run before, which may have ended within the same tick of the files' clock
        if name.removesuffix(".digest") in before:
            os.unlink(path(f"logs/{name}"))
    ranks = subprocess.run([os.environ["MEMPROF_REPORT"], "ranks", path("logs")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    mp.equal(ranks.returncode, 0, f"status ({ranks.stderr})")
    mp.equal(ranks.stderr, "", "digests are not those of the logs")
    mp.equal(memprof(*run, "--", "true").returncode, 0, "status, in a folder with digests")
    refused(memprof("run", "--digest", "--", "true", env={"MEMPROF_OUT": "x.zst"}), FAILED, "--digest needs --output")


def test_symbols_option_stores_function_names():
    program, run = path("program"), ("run", "-o", "logs", "--min-rss=0", "--stacks=all")
    shutil.copy(shutil.which("sleep"), program)
    mp.equal(memprof(*run, "--", program, "0").returncode, 0, "status")
    mp.equal([n for n in os.listdir(path("logs")) if n.endswith(".symbols")], [], "names without --symbols")
    before = os.listdir(path("logs"))
    result = memprof(*run, "--symbols", "--", program, "0")
    mp.equal((result.returncode, result.stdout), (0, ""), result.stderr)
    if "without libdw" in subprocess.run([os.environ["MEMPROF_REPORT"], "peaks", "--tree", path("logs")], stdout=subprocess.PIPE, text=True).stdout:
        return
    for name in before:         # a log of the run before may have ended in the same tick of the files' clock
        if os.path.exists(path(f"logs/{name}.symbols")):
            os.unlink(path(f"logs/{name}.symbols"))
    stored = [n for n in os.listdir(path("logs")) if n.endswith(".symbols")]
    mp.equal(len(stored), 1, f"names in {os.listdir(path('logs'))}")
    mp.check(os.path.exists(path("logs/" + stored[0].removesuffix(".symbols"))), "no log of that name")
    mp.equal(memprof(*run, "--", "true").returncode, 0, "status, in a folder with names")
    os.unlink(program)
    log = path("logs/" + next(n for n in before if n.startswith("program.")))
    for command in ("log", "symbolize"), ("peaks", "--tree"):       # reports name functions of the C library although the program's file was deleted
        out = subprocess.run([os.environ["MEMPROF_REPORT"], *command, log], stdout=subprocess.PIPE, text=True, check=True).stdout
        mp.check(re.search("have no names, because the files are not on this machine.*: program", out), f"{command}: {out}")
    refused(memprof("run", "--symbols", "--", "true", env={"MEMPROF_OUT": "x.zst"}), FAILED, "--symbols needs --output")


def test_default_directory_is_always_a_new_one():
    """The name of the new directory can be predicted, so another process could create it first and get the logs."""
    script = f'mkdir memprof.true.$$ && exec {os.environ["MEMPROF"]} run -- true'
    result = subprocess.run(["sh", "-c", script], cwd=mp.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=mp.TIMEOUT)
    mp.equal(result.returncode, 0, f"status ({result.stderr})")
    foreign, own = sorted(os.listdir(mp.folder))
    mp.equal(own, foreign + ".2", "directories")
    mp.equal((len(os.listdir(path(foreign))), len(mp.Logs(path(own)).paths())), (0, 1), "files and logs in them")


def test_directory_that_others_can_write_is_refused():
    os.mkdir(path("logs"))
    for mode in (0o777, 0o1777):
        os.chmod(path("logs"), mode)
        refused(memprof("run", "-o", "logs", "--", "echo", "ran"), FAILED, "every user can write to this directory")
    os.chmod(path("logs"), 0o755)
    as_root()
    os.chown(path("logs"), NOBODY, -1)
    refused(memprof("run", "-o", "logs", "--", "echo", "ran"), FAILED, "belongs to another user")


LIVES_ON = """
import os, time
x = bytearray(32 << 20)
open("ready", "w").close()
time.sleep(1000)
"""


def test_logs_of_running_processes_in_other_namespaces_are_unchanged():
    """Another host also has the directory."""
    as_root()
    script = (f"unshare --pid --uts --fork --kill-child sh -c 'hostname elsewhere && exec {PYTHON} -c \"$0\"' \"$0\" >/dev/null 2>failed & "
              "while ! test -e ready; do kill -0 $! || exit 9; sleep 0.02; done; echo $!")
    result = memprof("run", "-o", "logs", "--", "sh", "-c", script, LIVES_ON)
    if result.returncode == 9:
        with open(path("failed")) as f:
            raise mp.Skip(f"no namespaces here: {f.read()}")
    mp.equal(result.returncode, 0, f"status ({result.stderr})")
    try:
        journals = mp.Logs(path("logs")).journals()
        mp.check(any(".elsewhere.1." in j for j in journals), f"journals {journals}")
        mp.check("completed from" not in result.stderr, result.stderr)
    finally:
        os.kill(int(result.stdout), signal.SIGKILL)


def run_record(directory):
    """Returns the lines of memprof.run: [(kind, {key: value})]."""
    with open(os.path.join(path(directory), "memprof.run")) as f:
        lines = [line.split() for line in f]
    return [(kind, dict(pair.split("=", 1) for pair in pairs)) for kind, *pairs in lines]


# The launcher has a pidfd of each process that it watches. It also opens and closes other descriptors.
WATCHED = """
import ctypes, os, signal, subprocess, sys, time
def text(path):
    try: return open(path).read()
    except OSError: return ""
def watched(pid):
    folder = f"/proc/{os.getppid()}/fdinfo"
    while not any(f"Pid:\\t{pid}\\n" in text(f"{folder}/{fd}") for fd in os.listdir(folder)): time.sleep(0.01)
def recorded(line):
    while line not in text(sys.argv[1] + "/memprof.run"): time.sleep(0.01)
"""

ENDS = WATCHED + """
taken, held = os.pipe()
children = []
for how in ("exit_group", "term", "kill"):
    child = os.fork()
    if child: children.append(child)
    else:
        os.close(held)
        os.read(taken, 1)
        if how == "exit_group": ctypes.CDLL(None).syscall(231, 7)
        os.kill(os.getpid(), signal.SIGTERM if how == "term" else signal.SIGKILL)
os.close(taken)
for child in children: watched(child)
os.close(held)
for child in children: os.waitpid(child, 0)
for child in children: recorded(f"end pid={child} ")
print(*children)
"""


def oom(directory):
    """Returns the output of `memprof-report oom`."""
    return subprocess.run([os.environ["MEMPROF_REPORT"], "oom", directory], cwd=mp.folder, stdout=subprocess.PIPE, text=True,
                          timeout=mp.TIMEOUT).stdout


def test_exit_status_of_every_process_is_recorded():
    result = memprof("run", "-o", "logs", "--min-rss=0", "--", PYTHON, "-S", "-c", ENDS, "logs")
    mp.equal(result.returncode, 0, f"status ({result.stderr})")
    exited, terminated, killed = result.stdout.split()
    ends = {end["pid"]: end for kind, end in run_record("logs") if kind == "end"}
    if ends[exited].get("exit") != "7":
        raise mp.Skip(f"this kernel does not tell how a process ended: {ends[exited]}")
    mp.equal((ends[terminated]["signal"], ends[killed]["signal"]), ("15", "9"), "signals")
    mp.check("oom" not in ends[killed], ends[killed])
    story = oom("logs")
    for words in (f"pid {terminated} SIGTERM", f"pid {killed} SIGKILL", f"pid {exited} exit status 7"):
        mp.check(words in story, f"{words!r} is not in {story}")
    mp.check("1 of 4 processes failed" in story, story)


DROPS = WATCHED + """
child = subprocess.Popen(["cat"], env={}, executable="/bin/cat", stdin=subprocess.PIPE)
recorded(f"unseen pid={child.pid} ")
child.communicate()
"""


def test_processes_without_memprof_are_reported():
    result = memprof("run", "-o", "logs", "--", PYTHON, "-S", "-c", DROPS, "logs")
    mp.check("1 process of the command ran without memprof: cat (pid " in result.stderr, result.stderr)
    mp.check("started without LD_PRELOAD)" in result.stderr, result.stderr)
    result = memprof("run", "-o", "more", "--program=cat", "--", PYTHON, "-S", "-c", "import subprocess; subprocess.run(['cat'])")
    mp.check("without memprof" not in result.stderr, f"processes that the filter left out are reported as unrecorded: {result.stderr}")


WAITS = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM, signal.SIGHUP])
print("ready", flush=True)
while True:
    got = signal.sigwait([signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM, signal.SIGHUP])
    print(signal.Signals(got).name, flush=True)
    if got == signal.SIGTERM: sys.exit(5)
"""


def test_signals_are_forwarded():
    process = start(PYTHON, "-c", WAITS)
    mp.equal(process.stdout.readline(), "ready\n", "start")
    for number in (signal.SIGUSR1, signal.SIGHUP, signal.SIGUSR2, signal.SIGTERM):
        os.kill(process.pid, number)
        mp.equal(process.stdout.readline(), number.name + "\n", "forwarded")
    mp.equal(process.wait(mp.TIMEOUT), 5, "status")


COUNTS_UNTIL_USR2 = """
import os, signal, sys
taken, arrived = os.pipe()
os.set_blocking(arrived, False)
signal.set_wakeup_fd(arrived)       # gets the number of each signal as it arrives
for number in (signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2): signal.signal(number, lambda *_: None)
if sys.argv[1:]: os.kill(0, signal.SIGUSR1)
print("ready", flush=True)
got = b""
while signal.SIGUSR2 not in got:
    got = os.read(taken, 100)       # all: of two handlers at once, that of the later signal runs first
    for number in sorted(got): print(signal.Signals(number).name, flush=True)
"""


def test_signal_of_the_command_to_its_group_is_delivered_once():
    process = start(PYTHON, "-c", COUNTS_UNTIL_USR2, "its group")
    mp.equal(process.stdout.readline(), "ready\n", "start")
    mp.equal(process.stdout.readline(), "SIGUSR1\n", "arrived")
    os.kill(process.pid, signal.SIGUSR2)       # the launcher handles it after the first signal
    mp.equal(process.stdout.read(), "SIGUSR2\n", "arrived then")
    mp.equal(process.wait(mp.TIMEOUT), 0, "status")


def test_terminal_signal_is_delivered_once():
    keyboard, terminal = pty.openpty()

    def in_terminal():
        os.setsid()
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

    process = start(PYTHON, "-c", COUNTS_UNTIL_USR2, preexec_fn=in_terminal)
    mp.equal(process.stdout.readline(), "ready\n", "start")
    os.write(keyboard, b"\x03")                # ^C
    mp.equal(process.stdout.readline(), "SIGINT\n", "arrived")
    os.kill(process.pid, signal.SIGUSR2)       # the launcher handles it after the first signal
    mp.equal(process.stdout.read(), "SIGUSR2\n", "arrived then")
    mp.equal(process.wait(mp.TIMEOUT), 0, "status")


def test_signal_from_the_same_process_group_is_forwarded():
    """A script without job control is in the process group of its children, and calls `kill $!`."""
    process = start(PYTHON, "-c", WAITS, preexec_fn=None)
    mp.equal(process.stdout.readline(), "ready\n", "start")
    os.kill(process.pid, signal.SIGTERM)
    mp.equal(process.wait(mp.TIMEOUT), 5, "status")


def test_signal_from_outside_of_a_container_is_forwarded():
    """In a container the launcher is process 1, and the sender's process ID is unknown."""
    as_root()
    container = subprocess.Popen(["unshare", "--pid", "--fork", os.environ["MEMPROF"], "run", "-q", "-o", "logs", "--", PYTHON, "-c", WAITS],
                                 cwd=mp.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if container.stdout.readline() != "ready\n":
        raise mp.Skip(f"no pid namespace here: {container.stderr.read()}")
    with open(f"/proc/{container.pid}/task/{container.pid}/children") as f:
        os.kill(int(f.read()), signal.SIGTERM)
    mp.equal(container.wait(mp.TIMEOUT), 5, "status")


def state(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def test_sigtstp_stops_command_and_launcher():
    process = start(PYTHON, "-c", "import os, signal\nprint(os.getpid(), flush=True)\nwhile True: signal.pause()")
    child = int(process.stdout.readline())
    os.kill(process.pid, signal.SIGTSTP)
    mp.wait_for(lambda: state(child) == "T" and state(process.pid) == "T")
    os.kill(process.pid, signal.SIGCONT)
    mp.wait_for(lambda: state(child) != "T" and state(process.pid) != "T")
    os.kill(child, signal.SIGTERM)
    mp.equal(process.wait(mp.TIMEOUT), SIGNAL + signal.SIGTERM, "status")


def pending(pid, number):
    with open(f"/proc/{pid}/status") as f:
        mask, = (int(line.split()[1], 16) for line in f if line.startswith("ShdPnd:"))
    return mask >> (number - 1) & 1


TAKES_ONE = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])
print(os.getpid(), flush=True)
signal.sigwait([signal.SIGWINCH])
sys.exit(5)
"""


def test_sigstop_of_the_command_does_not_stop_the_launcher():
    """A process that stops only the command also wakes only the command. The launcher must not stay stopped."""
    process = start(PYTHON, "-c", TAKES_ONE)
    child = int(process.stdout.readline())
    os.kill(child, signal.SIGSTOP)
    mp.wait_for(lambda: state(child) == "T")
    os.kill(process.pid, signal.SIGWINCH)       # the launcher handles it after SIGCHLD, whose number is lower
    mp.wait_for(lambda: pending(child, signal.SIGWINCH))
    os.kill(child, signal.SIGCONT)
    mp.equal(process.wait(mp.TIMEOUT), 5, "status")


class MemoryGroup:
    """A memory cgroup of 64 MiB, version 1 or 2."""

    def __init__(self, size=64 << 20):
        self.path = None
        for base, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
            group = os.path.join(base, f"memprof-test.{os.getpid()}.{size}")
            try:
                os.mkdir(group)
                self.path = group
                self.write(limit, str(size))
                return
            except OSError:
                self.__exit__()
        raise mp.Skip("no memory cgroup can be made here")

    def write(self, file, text):
        with open(os.path.join(self.path, file), "w") as f:
            f.write(text)

    def enter(self):
        self.write("cgroup.procs", str(os.getpid()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.path:
            os.rmdir(self.path)
        self.path = None


def test_oom_kill_is_reported():
    with MemoryGroup() as group:
        result = memprof("run", "-o", "logs", "--", PYTHON, "-c", "x = bytearray(200 << 20)", preexec_fn=group.enter)
    mp.equal(result.returncode, SIGNAL + signal.SIGKILL, f"status ({result.stderr})")
    mp.check("OOM KILL: the kernel killed 1 process of the command's memory cgroup" in result.stderr, result.stderr)
    mp.equal(result.stderr.count("\n"), 4, f"lines of {result.stderr}")
    end, = (end for kind, end in run_record("logs") if end.get("signal") == "9")
    mp.check(end["oom"] in ("kernel", "cgroup"), f"{end}")
    mp.check(f"(pid {end['pid']})" in result.stderr, result.stderr)
    story = oom("logs")
    mp.check("KILLED  host" in story and ("OOM-killed by the kernel" in story or "counted an OOM kill" in story), story)


ON_TMPFS = "on tmpfs, whose pages count towards the memory cgroup's limit of "


def test_log_on_tmpfs_under_a_memory_limit_is_warned_about():
    """One line is printed, whether the launcher or the library starts first, and none without a limit."""
    with small_disk(256 << 20) as disk, MemoryGroup(1 << 30) as group:
        for options, log, words in ((["-o", f"{disk}/both"], f"{disk}/both.zst", "the log and its journal are"),
                                    (["-o", "disk", "--journal-dir", disk], None, "the journal is")):
            result = memprof("run", *options, "--min-rss=0", "--", "sh", "-c", "/bin/true; /bin/true", preexec_fn=group.enter)
            mp.equal(result.stderr.count(ON_TMPFS), 1, f"warnings in {result.stderr}")
            mp.check(f"memprof: {words} {ON_TMPFS}1.0 GiB, so the program may be killed; " in result.stderr, result.stderr)
            if log:
                bare = subprocess.run(["/bin/true"], env={**mp.environment(disk), "MEMPROF_OUT": log}, stderr=subprocess.PIPE, text=True,
                                      preexec_fn=group.enter, check=True)
                mp.equal(bare.stderr.count(ON_TMPFS), 1, f"warnings without the launcher in {bare.stderr}")
        quiet = memprof("run", "-q", "-o", f"{disk}/quiet", "--", "true", preexec_fn=group.enter)
        mp.equal(quiet.stderr, "", "words of a quiet run")
        mp.check(ON_TMPFS not in memprof("run", "-o", "logs", "--", "true", preexec_fn=group.enter).stderr, "the logs are on a disk")
        with MemoryGroup(1 << 62) as unlimited:
            free = memprof("run", "-o", f"{disk}/free", "--", "true", preexec_fn=unlimited.enter)
        mp.check(ON_TMPFS not in free.stderr, "there is no limit")


FILLS_TMPFS = """
import random
sizes = [random.randrange(600, 6000) for _ in range(1000)]
while True: x = [bytearray(size) for size in sizes]
"""


def test_oom_names_the_log_and_journal_of_memprof_on_tmpfs():
    """A log on tmpfs fills the cgroup of its program."""
    with small_disk(256 << 20) as disk, MemoryGroup(40 << 20) as group:
        process = subprocess.Popen([PYTHON, "-S", "-c", FILLS_TMPFS], preexec_fn=group.enter, stderr=subprocess.DEVNULL,
                                   env={**mp.environment(disk, MEMPROF_LEVEL="-9"), "PYTHONMALLOC": "malloc"})
        mp.equal(process.wait(mp.TIMEOUT), -signal.SIGKILL, "status")
        path, = mp.Logs(disk).paths()
        host = report_of("oom", "--format", "json", path)["logs"][0]["host"]
        text = report_of("oom", path)
        files = host["cgroup"]["memprof_files_bytes"]
        mp.check(10 * MIB < files <= host["cgroup"]["usage_bytes"], f"{host['cgroup']}")
        mp.check("memprof's own log and journal on tmpfs hold " in text, text)
        mp.check("why      memprof's own log and journal on tmpfs held " in text and "do       record to a disk: " in text, text)


FILLS = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
for i in range(400): [bytes(1000) for _ in range(1000)]
"""


def test_lost_events_are_reported():
    result = memprof("run", "-o", "logs", "--", PYTHON, "-S", "-c", FILLS)
    mp.check(" events are missing in 1 log; " in result.stderr, result.stderr)
    log, = mp.Logs(path("logs")).paths()
    for command in ["peaks"], ["log", "verify"]:
        report = subprocess.run([os.environ["MEMPROF_REPORT"], *command, log], stdout=subprocess.PIPE, text=True)
        mp.equal(report.returncode, mp.INCOMPLETE, f"status of {command}")
        mp.check("INCOMPLETE" in report.stdout and "nothing could be written (File too large)" in report.stdout, report.stdout)


FILLS_ITS_DISK = """
import contextlib, os, sys
with open(sys.argv[1], "wb", buffering=0) as f, contextlib.suppress(OSError):
    while f.write(bytes(4096)):
        pass
for i in range(400): [bytes(1000) for _ in range(1000)]
os.kill(os.getpid(), 9)         # an END could fit into the log's last page
"""


@contextlib.contextmanager
def small_disk(size):
    """Mounts a tmpfs that only this test sees."""
    disk = mp.fresh("disk")
    if ctypes.CDLL(None).unshare(0x00020000) != 0:      # CLONE_NEWNS
        raise mp.Skip("needs the right to mount")
    for arguments in (["--make-rprivate", "/"], ["-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk]):
        if subprocess.run(["mount", *arguments], stderr=subprocess.DEVNULL, check=False).returncode:
            raise mp.Skip("needs the right to mount")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_lost_events_and_failed_merge_are_reported_on_a_full_disk():
    """The log has no END, its journal is kept, and the two cannot be merged."""
    with small_disk(64 << 20) as disk:
        logs = os.path.join(disk, "logs")
        result = memprof("run", "-o", logs, "--", PYTHON, "-S", "-c", FILLS_ITS_DISK, os.path.join(disk, "filler"))
        log, = mp.Logs(logs).paths()
        mp.equal(len(mp.Logs(logs).journals()), 1, "journals that stay")
        lost = mp.Log(log).json["lost_events"]
        mp.check(lost > 0, "no events were lost")
        mp.check(f"INCOMPLETE: {lost} events are missing in 1 log; " in result.stderr, result.stderr)
        mp.check(f"were kept: {log}: cannot write: No space left on device; " in result.stderr, result.stderr)
        os.remove(os.path.join(disk, "filler"))
        recovered = subprocess.run([os.environ["MEMPROF_REPORT"], "log", "recover", logs], stdout=subprocess.PIPE, text=True)
        mp.equal(recovered.returncode, 0, recovered.stdout)


def test_log_without_end_and_journal_is_reported():
    loses = "import os, sys; d = sys.argv[1]; [os.remove(f'{d}/{n}') for n in os.listdir(d) if n.endswith('.journal')]; os.kill(os.getpid(), 9)"
    result = memprof("run", "-o", "logs", "--", PYTHON, "-S", "-c", loses, "logs")
    mp.check("INCOMPLETE: 1 log has no end, and no journal was found" in result.stderr, result.stderr)


def test_manual_kill_is_not_reported_as_oom_kill():
    result = memprof("run", "--", "sh", "-c", "kill -9 $$")
    mp.check("OOM" not in result.stderr, result.stderr)


def test_help_version_and_usage_errors_are_printed():
    for arguments in (["--help"], ["help"], ["run", "--help"]):
        result = memprof(*arguments)
        mp.equal((result.returncode, result.stderr), (0, ""), "help")
        mp.check("Examples:\n  memprof run -- python3 train.py" in result.stdout, result.stdout)
    mp.check(memprof("--version").stdout.startswith("memprof "), "version")
    refused(memprof(), USAGE, "expected a command: run, attach, detach, status or help")
    refused(memprof("run"), USAGE, "expected a command")
    refused(memprof("run", "--no-such-option", "--", "echo", "ran"), USAGE, "no-such-option")
    refused(memprof("walk"), USAGE, "unknown command 'walk'; expected run, attach, detach, status or help. To record a program: memprof run -- COMMAND")


if __name__ == "__main__":
    mp.main()
