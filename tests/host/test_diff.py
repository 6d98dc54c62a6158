"""memprof-report diff shows what two builds of a program allocate differently."""
import json
import os
import subprocess

import mp
import stacks


def built(name):
    log = mp.run([mp.victim(name)], env={"MEMPROF_STACKS": "all"}).logs.one()
    mp.whole(log)
    return log.path


def diff(*arguments):
    return subprocess.run([os.environ["MEMPROF_REPORT"], "diff", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=mp.TIMEOUT, text=True, check=True).stdout


def test_diff_names_only_the_function_that_allocates_more():
    stacks.has_symbols()
    account, = json.loads(diff("--format", "json", "--heap", "host/heap", built("build_before"), built("build_after")))["accounts"]
    row, = account["rows"]
    mp.check(len(row["path"]) == 1 and row["path"][0].startswith("build_index (builds.c:") and row["caller"] == "load", row)
    mp.equal((row["kind"], row["base_bytes"], row["new_bytes"]), ("grew", 2000000, 2200000), "the row")
    mp.equal(account["change_bytes"], 200000, "the heap's change")


def test_diff_text_names_only_the_function_that_allocates_more():
    stacks.has_symbols()
    text = diff("--heap", "host/heap", built("build_before"), built("build_after"))
    line, = [l for l in text.splitlines() if "builds.c:" in l]
    mp.check("load > build_index (builds.c:" in line and "+10.0 %" in line, text)


def test_diff_of_two_runs_of_one_build_is_empty():
    text = diff("--heap", "host/heap", built("build_before"), built("build_before"))
    mp.check("nothing differs: host/heap" in text, text)


if __name__ == "__main__":
    mp.main()
