"""MEMPROF_* variables are checked, log names follow their template, and the line at the end names the log."""
import os
import re
import socket
import sys

import shutil
import subprocess
import mp

NOTHING = [mp.victim("table"), "nothing"]
HOST = socket.gethostname()


def named(template, **env):
    """Returns the paths of the logs that a template creates below a fresh folder."""
    place = mp.fresh("out")
    result = mp.run(NOTHING, env={"MEMPROF_OUT": os.path.join(place, template), **env})
    return [os.path.relpath(os.path.join(d, f), place) for d, _, files in os.walk(place) for f in files], result


def test_log_path_template_is_expanded():
    for template, pattern, env in (
            ("%h.zst", re.escape(HOST) + r"\.zst", {}), ("%p.zst", r"\d+\.zst", {}), ("%e.zst", r"table\.zst", {}),
            ("%r.zst", r"3\.zst", {"RANK": "3"}), ("%r.zst", r"5\.zst", {"SLURM_PROCID": "5"}), ("r%r.zst", r"r\.zst", {}),
            ("%r.zst", r"1\.zst", {"RANK": "1", "PMI_RANK": "2"}), ("%t.zst", r"\d{10}\.zst", {}),
            ("%q{JOB}.zst", r"train\.zst", {"JOB": "train"}), ("x%q{NOT_SET}.zst", r"x\.zst", {}), ("%%.zst", r"%\.zst", {}),
            ("a/b/%p/c.zst", r"a/b/\d+/c\.zst", {}), ("%q{JOB}.zst", r"_\._\.\._up\.zst", {"JOB": "../../up"}), ("plain", r"plain", {})):
        paths, _ = named(template, **env)
        mp.check(len(paths) == 1 and re.fullmatch(pattern, paths[0]), f"{template}: {paths}, expected {pattern}")


def test_default_log_name_has_host_and_pid():
    place = mp.fresh("out")
    mp.run(NOTHING, env={"MEMPROF_OUT": None}, cwd=place)
    name, = os.listdir(place)
    mp.check(re.fullmatch(rf"memprof\.{re.escape(HOST)}\.\d+\.zst", name), name)


def test_log_of_another_process_is_never_overwritten():
    place = mp.fresh("out")
    for _ in range(3):
        mp.run(NOTHING, env={"MEMPROF_OUT": os.path.join(place, "log.zst")})
    mp.equal(sorted(os.listdir(place)), ["log.2.zst", "log.3.zst", "log.zst"], "logs")
    for name in os.listdir(place):
        mp.whole(mp.Log(os.path.join(place, name)))
        mp.equal(os.stat(os.path.join(place, name)).st_mode & 0o777, 0o600, "mode")


def test_log_path_that_is_a_symlink_is_not_followed():
    place = mp.fresh("out")
    target = os.path.join(place, "target")
    os.symlink(target, os.path.join(place, "log.zst"))
    mp.run(NOTHING, env={"MEMPROF_OUT": os.path.join(place, "log.zst")})
    mp.check(not os.path.exists(target), "written through a link")


CHILD = [sys.executable, "-S", "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"]


def test_small_children_leave_no_log_but_the_root_process_does():
    for size, logs in (("64M", 1), ("1", 2), (None, 1)):
        result = mp.run([*CHILD, *NOTHING], env={"MEMPROF_MIN_RSS": size})
        mp.equal(len(result.logs.paths()), logs, f"logs with MEMPROF_MIN_RSS={size}")
        mp.equal(result.logs.journals(), [], "journals")
    big = [sys.executable, "-S", "-c", "b = b'x' * (40 << 20)"]
    mp.equal(len(mp.run([*CHILD, *big], env={"MEMPROF_MIN_RSS": "32MiB"}).logs.paths()), 2, "logs of a big child")
    mp.equal(len(mp.run(NOTHING, env={"MEMPROF_MIN_RSS": "1G"}).logs.paths()), 1, "logs of a small root")


def test_a_chain_of_execs_leaves_the_log_of_the_last_program():
    """Two shells start the program, as with pyenv's python. So the root of the process tree and the last program are
    both small."""
    shims = ["/bin/sh", "-c", 'exec /bin/sh -c "exec \\"\\$0\\" nothing" "$0"', mp.victim("table")]
    log = mp.run(shims, env={"MEMPROF_MIN_RSS": "1G"}).logs.one()
    mp.equal(log.process["command"][0], mp.victim("table"), "the program of the log")
    mp.equal(len(mp.run(shims, env={"MEMPROF_MIN_RSS": "0"}).logs.paths()), 3, "logs of programs of any size")


def test_a_large_program_keeps_its_log_when_it_executes_another():
    large = "import os, sys; b = b'x' * (40 << 20); os.execv(sys.argv[1], sys.argv[1:])"
    logs = mp.run([sys.executable, "-S", "-c", large, *NOTHING], env={"MEMPROF_MIN_RSS": "32M"}).logs
    mp.equal(len(logs.paths()), 2, "logs")
    out = subprocess.run([os.environ["MEMPROF_REPORT"], "processes", *logs.paths()], stdout=subprocess.PIPE, text=True, check=True).stdout
    mp.check("1 process, 2 logs" in out and "  table nothing " in out and "python" not in out, f"one row, of the last program: {out}")


def test_small_root_process_that_is_killed_keeps_its_log():
    log = mp.run(["/bin/sh", "-c", "kill -9 $$"], status=-9, env={"MEMPROF_MIN_RSS": "1G"}).logs.one()
    mp.check(log.json["recovered_from_journal"], "not recovered from the journal")


def test_only_programs_that_match_the_pattern_are_recorded():
    for glob, logs in (("table", 1), ("t*e", 1), ("python*", 0), ("", 1)):
        result = mp.run(NOTHING, env={"MEMPROF_PROGRAM": glob})
        mp.equal(len(result.logs.paths()), logs, f"logs with MEMPROF_PROGRAM={glob}")


def test_invalid_variable_values_are_warned_about_once():
    for name, value in (("MEMPROF_MIN_RSS", "much"), ("MEMPROF_MIN_RSS", "12X"), ("MEMPROF_MIN_RSS", "-1"), ("MEMPROF_LEVEL", "high"),
                        ("MEMPROF_LEVEL", "99"), ("MEMPROF_QUIET", "maybe"), ("MEMPROF_JOURNAL_DIR", "relative")):
        result = mp.run(NOTHING, env={name: value})
        lines = [line for line in result.err.decode().splitlines() if name in line]
        mp.check(len(lines) == 1 and value in lines[0], f"{name}={value}: {result.err}")
        mp.whole(result.logs.one())


def test_journal_dir_variable_moves_the_journal():
    place = mp.fresh("journal")
    result = mp.run([mp.victim("endings"), "kill"], env={"MEMPROF_JOURNAL_DIR": place}, status=-9)
    mp.equal(len(os.listdir(place)), 1, "journals there")
    mp.equal(result.logs.one().range("work")["allocations"], 1000, "blocks")


def test_quiet_variable_silences_memprof():
    for value, quiet in (("1", True), ("yes", True), ("0", False), ("", False)):
        mp.equal(mp.run(NOTHING, env={"MEMPROF_QUIET": value}).err == b"", quiet, f"silence with MEMPROF_QUIET={value}")


def misspelt(**env):
    """Returns the warnings about unknown variables in a run of a program with a child."""
    err = mp.run([*CHILD, *NOTHING], env=env).err.decode()
    return [line for line in err.splitlines() if "not a variable of memprof" in line]


def test_misspelt_variable_is_warned_about_once():
    line, = misspelt(MEMPROF_STAKS="all")
    mp.equal(line, "memprof: MEMPROF_STAKS is not a variable of memprof; did you mean MEMPROF_STACKS?", "line")
    line, = misspelt(MEMPROF_SESSION="1", MEMPROF_STAKS="all", MEMPROF_TENANT="2")
    mp.equal(line, "memprof: MEMPROF_STAKS is not a variable of memprof; did you mean MEMPROF_STACKS? (and 2 more)", "line")
    line, = misspelt(MEMPROF_SESSION="1")
    mp.equal(line, "memprof: MEMPROF_SESSION is not a variable of memprof and has no effect", "line")
    mp.equal(misspelt(MEMPROF_STAKS="all", MEMPROF_QUIET="1"), [], "lines with MEMPROF_QUIET")
    mp.equal(misspelt(MEMPROF_STACKS="all"), [], "lines of a variable that is known")


def test_code_and_manual_agree_with_the_list_of_variables():
    """The code reads exactly the variables of variables.def, and the manual describes exactly these."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

    def names(pattern, *paths):
        found = set()
        for name in paths:
            with open(name) as f:
                found |= set(re.findall(pattern, f.read()))
        return found

    sources = [os.path.join(d, f) for room in ("preload", "launcher", "python") for d, _, files in os.walk(os.path.join(root, room))
               for f in files if f.endswith((".c", ".h", ".py"))]
    listed = {"MEMPROF_" + name for name in names(r"MP_VARIABLE\((\w+)\)\n", os.path.join(root, "preload/core/variables.def"))}
    mp.check(len(listed) > 10, f"a list: {listed}")
    mp.equal(names(r'"(MEMPROF_[A-Z_]*[A-Z])=?"', *sources), listed, "variables in the code")
    mp.equal(names(r"MEMPROF_[A-Z_]*[A-Z]", os.path.join(root, "docs/man/memprof.1")), listed, "variables in the manual")


def test_summary_line_is_printed_at_exit():
    result = mp.run([mp.victim("work"), "3000"])
    log = result.logs.one()
    line = result.err.decode()
    mp.check(re.fullmatch(r"memprof: .*\n", line), line)
    for part in (f"{log.json['events']} events", "peak RSS", "0 lost", f"memprof-report {log.path}"):
        mp.check(part in line, f"{part!r} is not in {line!r}")


def test_peak_rss_is_known_after_chroot():
    if os.getuid() != 0:
        raise mp.Skip("only root can chroot")
    result = mp.run([sys.executable, "-S", "-c", "import os, sys; b = [b'x' * 100 for _ in range(100000)]; os.chroot(sys.argv[1])", mp.fresh()])
    size, unit = re.search(r"peak RSS ([0-9.]+) (\w+)", result.err.decode()).groups()
    mp.check(unit == "MiB" and float(size) > 10, result.err)


def test_summary_line_omits_an_unknown_peak_rss():
    line = mp.run([mp.victim("sandbox"), "0", "line"]).err.decode()
    mp.check(" events, " in line and " lost, " in line, f"no last line with the counts: {line!r}")
    mp.check("peak RSS" not in line, line)


def test_log_of_a_program_started_by_symlink_has_the_name_of_the_link():
    """The names python3 and redis-server are links to files with other names."""
    place = mp.fresh("programs")
    link, script = os.path.join(place, "link"), os.path.join(place, "script")
    os.symlink(mp.victim("table"), link)
    with open(script, "w") as f:
        f.write(f"#!{link}\n")
    os.chmod(script, 0o755)
    for command, name in ((link, "link"), (mp.victim("table"), "table"), (script, "table")):
        logs = mp.fresh("logs")
        mp.run([command, "nothing"], env={"MEMPROF_OUT": os.path.join(logs, "%e")}, status=None)
        mp.equal(os.listdir(logs), [name], f"the log of {command}")
    for glob, recorded in (("link", True), ("table", True), ("lin", False)):
        log = os.path.join(mp.fresh("logs"), "log")
        mp.run([link, "nothing"], env={"MEMPROF_OUT": log, "MEMPROF_PROGRAM": glob})
        mp.equal(os.path.exists(log), recorded, f"recorded with MEMPROF_PROGRAM={glob}")


def test_nsight_compute_sees_the_users_cuda_injection_path():
    """A process that has this variable set is refused by the profiler."""
    child = "import os; print(os.environ.get('CUDA_INJECTION64_PATH'))"
    code = f"import subprocess, sys; print(subprocess.check_output([sys.executable, '-c', {child!r}], text=True))"
    for users, expected in ({}, "None"), ({"CUDA_INJECTION64_PATH": "/users.so"}, "/users.so"):
        start = f"import os; os.environ['NV_COMPUTE_PROFILER_PERFWORKS_DIR'] = '/'; {code}"
        result = mp.run([sys.executable, "-c", start], env=users)
        mp.equal(result.out.decode().strip(), expected, "CUDA_INJECTION64_PATH")


def test_children_inherit_ld_preload_with_the_entries_of_the_user():
    code = "import os; print(os.environ['LD_PRELOAD'])"
    result = mp.run([sys.executable, "-S", "-c", code], preload=[mp.victim("libearly_constructor.so")])
    mp.equal(result.out.decode().split(), [mp.library(), mp.victim("libearly_constructor.so")], "LD_PRELOAD")


def test_environment_with_5000_variables_reaches_children():
    out = mp.run(["env"], env={f"VARIABLE_{i}": "x" for i in range(5000)}).out
    mp.check(b"NVTX_INJECTION64_PATH=" in out and out.count(b"VARIABLE_") == 5000, "a child's environment")


def test_setuid_programs_record_nothing():
    """LD_PRELOAD has no effect in such a program, so the library is linked."""
    if os.getuid() != 0:
        raise mp.Skip("needs root")
    program, logs = os.path.join(mp.folder, "linked"), mp.fresh()
    shutil.copy(mp.victim("linked"), program)
    os.chmod(mp.folder, 0o755)
    os.chmod(logs, 0o777)
    os.chmod(program, 0o4755)
    for user in (0, 65534):
        done = subprocess.run([program], env={"MEMPROF_OUT": os.path.join(logs, f"{user}.zst"), "MEMPROF_QUIET": "1"}, cwd=logs,
                              preexec_fn=lambda user=user: os.setuid(user), stdout=subprocess.PIPE, check=False)
        if done.returncode:
            raise mp.Skip("another user cannot run what was built here")
    mp.equal(os.listdir(logs), ["0.zst"], "logs of the user and of one with more rights")


if __name__ == "__main__":
    mp.main()
