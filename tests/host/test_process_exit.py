"""In whichever way a process ends, all earlier events are in the log."""
import os
import shutil
import signal
import subprocess

import mp

LEAVING = ("pthread_exit", "thrd_exit")


def ended(how, status=0, complete=True, blocks=1000, **env):
    """Returns the only log, after checking that it has the blocks allocated before the end."""
    log = mp.run([mp.victim("endings"), how], status=status, env=env).logs.one()
    r = log.range("work")
    mp.equal((r["allocations"], r["bytes_at_peak"]), (blocks, blocks * 100), f"{how}: the range's blocks")
    mp.nothing_missing(log)
    mp.equal(log.json["complete"], complete, f"{how}: complete")
    return log


def recover(log, *options):
    mp.equal(subprocess.run([os.environ["MEMPROF_REPORT"], "log", "recover", *options, log], stdout=subprocess.DEVNULL, check=False).returncode, 0, "recover")
    mp.equal(mp.Log(log).range("work")["allocations"], 1000, f"blocks of {log}")


def test_recover_of_a_copy_keeps_the_journal_of_the_original():
    """The header of a copied log names the journal of the original."""
    logs = mp.run([mp.victim("endings"), "kill"], status=-signal.SIGKILL).logs
    log, = logs.paths()
    both, alone = mp.fresh("both"), mp.fresh("alone")
    for place, files, options in ((both, logs.paths() + logs.journals(), ["--dead"]), (alone, logs.paths(), [])):
        for path in files:
            shutil.copy(path, place)
        recover(os.path.join(place, os.path.basename(log)), *options)
    mp.equal(len(mp.Logs(both).journals()), 0, "journals of the copy")
    recover(log)
    mp.equal(logs.journals(), [], "journals")


def line_and_log(folder, how="return", **env):
    """Returns the line printed at the end for a log in such a folder, and the log."""
    where = os.path.join(mp.fresh("names"), folder)
    result = mp.run([mp.victim("endings"), how], env={"MEMPROF_OUT": os.path.join(where, "log.zst"), **env})
    err = result.err.decode()
    mp.check(err.count("\n") == 1 and "\x1b" not in err and "\u202e" not in err, f"folder {folder!a}: {err!a}")
    return err, os.path.join(where, "log.zst")


def test_suggested_command_can_be_pasted_into_a_shell():
    for folder in "plain", "wörk", "q $(touch pwned); x'y", "line\nline", "esc\x1b[31mred", "back\\slash\t'\u202e":
        line, log = line_and_log(folder)
        words = line.partition("next: memprof-report ")[2]
        mp.equal(subprocess.run(["bash", "-c", f"printf %s {words}"], stdout=subprocess.PIPE, check=True, text=True).stdout, log, "the path as bash reads it")
        mp.check(os.path.exists(log), log)
    mp.check("/wörk/log.zst'\n" in line_and_log("wörk")[0], "letters are shown")
    mp.check("/plain/log.zst\n" in line_and_log("plain")[0], "nothing is quoted that needs it not")


def test_messages_contain_no_control_characters():
    os.mkdir(os.path.join(mp.folder, "esc\x1b[31m\nred"))
    result = mp.run([mp.victim("endings"), "return"], env={"MEMPROF_OUT": os.path.join(mp.folder, "esc\x1b[31m\nred")})
    mp.check(b"esc?[31m?red" in result.err, f"{result.err!a}")


def test_log_is_complete_after_return_from_main():
    ended("return")


def test_log_is_complete_after_exit():
    ended("exit")


def test_log_is_complete_after__exit_and__Exit():
    ended("_exit")
    ended("_Exit")


def test_log_is_complete_after_quick_exit():
    ended("quick_exit")


def test_log_is_recovered_after_exit_group_abort_and_signals():
    for how, status in (("exit_group", 0), ("abort", -signal.SIGABRT), ("segv", -signal.SIGSEGV), ("term", -signal.SIGTERM),
                        ("kill", -signal.SIGKILL)):
        log = ended(how, status, complete=False)
        mp.check(log.json["recovered_from_journal"], f"{how}: not recovered from the journal")


def test_main_thread_that_exits_first_loses_no_event():
    """The process lives exactly as long as a thread of the program lives. memprof's threads do not count."""
    for how in LEAVING:
        ended(how, blocks=1500)


def test_raw_exit_of_the_only_thread_keeps_its_status():
    """When memprof's threads are the last ones, they end with the process."""
    mp.run([mp.victim("endings"), "raw_exit", "100000"], status=3)


def test_main_thread_that_exits_first_while_encoding_loses_no_event():
    for how in LEAVING:
        result = mp.run([mp.victim("endings"), how, "100000"])
        log = result.logs.one()
        mp.nothing_missing(log)
        mp.equal(result.out, b"buffered", f"{how}: what exit writes with the program's descriptors")
        mp.check(b"events" in result.err, f"{how}: no line at the end")
        mp.equal(log.range("work")["allocations"], 100500, f"{how}: blocks")


def test_exec_leaves_a_complete_log_of_each_program():
    result = mp.run([mp.victim("endings"), "exec"])
    first, second = sorted(result.logs.all(), key=lambda log: len(log.path))
    mp.equal(second.path, first.path.replace(".zst", ".2.zst"), "the new image's log")
    for log, blocks in ((first, 1000), (second, 300)):
        mp.whole(log)
        mp.equal(log.range("work")["allocations"], blocks, log.path)
    mp.equal(result.logs.journals(), [], "journals left")


def test_exec_leaves_no_journal_behind():
    """The log of the new program has another name, or it has no log."""
    for name, env, expected in (("%e.%p.zst", {}, ["endings", "true"]), ("%e.%p.zst", {"MEMPROF_PROGRAM": "endings"}, ["endings"])):
        folder = mp.fresh()
        argv = [mp.victim("endings"), "exec_true"]
        process = mp.start(argv, folder, env={"MEMPROF_OUT": os.path.join(folder, name), **env}, stderr=subprocess.PIPE)
        logs = mp.finish(process, argv, folder).logs
        mp.equal([os.path.basename(path).split(".")[0] for path in logs.paths()], expected, "logs")
        for log in logs.all():
            mp.whole(log)
        mp.equal(logs.all()[0].range("work")["allocations"], 1000, "blocks before exec")
        mp.equal(logs.journals(), [], "journals left")


def test_program_is_recorded_after_a_failed_exec():
    ended("failed_exec", blocks=1200)


def test_kill_after_a_failed_exec_loses_no_event():
    for blocks in (1000, 100000):       # without and with an encoder
        result = mp.run([mp.victim("endings"), "failed_exec_kill", str(blocks)], status=-signal.SIGKILL)
        log = result.logs.one()
        mp.nothing_missing(log)
        mp.check(log.json["recovered_from_journal"], "not recovered from the journal")
        mp.equal(log.range("work")["allocations"], blocks + 200, "blocks")


def test_failed_exec_with_other_threads_continues_without_a_journal():
    """The journal cannot be recreated while other threads may write to it. A message says this, and everything else
    works."""
    result = mp.run([mp.victim("endings"), "failed_exec_threads"])
    mp.whole(result.logs.one())
    mp.equal(result.logs.one().range("work")["allocations"], 1200, "blocks")
    mp.check(b"no journal after a failed exec" in result.err, result.err)
    mp.equal(result.logs.journals(), [], "journals left")


def failed_execs(run):
    """Returns {case: (errno, system calls)} of exec calls that cannot succeed."""
    place = mp.fresh("files")
    with open(os.path.join(place, "plain"), "w", encoding="utf-8") as f:
        f.write("no program\n")
    out = run([mp.victim("exec_calls"), place], env={"PATH": "/usr/bin:/bin:/usr/sbin"})
    return {name: (int(error), int(calls)) for name, error, calls in map(str.split, out.decode().splitlines())}


def test_failed_exec_costs_at_most_8_system_calls():
    """The log is not ended and restarted for such a call, because a program may search for a command in many
    folders."""
    if mp.EMULATOR:
        raise mp.Skip("an emulator of the user's mode has no ptrace")
    bare = failed_execs(lambda argv, env: mp.bare(argv, env=env)[1])
    if not bare:
        raise mp.Skip("ptrace is not allowed")
    result = failed_execs(lambda argv, env: mp.run(argv, env=env).out)
    mp.equal({name: error for name, (error, _) in result.items()}, {name: error for name, (error, _) in bare.items()}, "errno of each exec")
    for name, (_, calls) in result.items():
        mp.within(calls - bare[name][1], 0, 8, f"system calls of {name} beside the program's {bare[name][1]}")


def small_child(how, blocks):
    """Returns the logs and the remaining journals of a child that is at first too small for a log."""
    result = mp.run([mp.victim("endings"), "child_" + how, str(blocks)], env={"MEMPROF_MIN_RSS": "32M"})
    mp.equal(result.logs.journals(), [], f"{how}: journals left")
    return [log for log in result.logs.all() if log.process["parent_log"]]


def test_small_child_is_recorded_after_a_failed_exec():
    for blocks in (1000, 100000):
        log, = small_child("failed_exec_grow", blocks)
        mp.whole(log)
        mp.equal(log.range("work")["allocations"], blocks + 200, "blocks")


def test_small_child_leaves_no_log_and_no_journal():
    for how in ("failed_exec", "exec_true"):
        mp.equal(small_child(how, 1000), [], how)


if __name__ == "__main__":
    mp.main()
