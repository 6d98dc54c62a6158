"""Host blocks have the call stacks of their allocations, and recording stacks changes nothing else."""
import glob
import json
import math
import os
import subprocess
import tempfile

import mp
from stacks import folded, has_symbols, report


def bytes_in(log, functions, heap="host/heap"):
    return sum(size for path, size in folded(log, heap).items() if functions in path)


def run(how, **env):
    log = mp.run([mp.victim("stacks"), how], env=env).logs.one()
    mp.whole(log)
    return log


def test_stack_that_reaches_main_is_not_marked_as_cut():
    for how in ("malloc", "thread"):
        mp.equal([path for path in folded(run(how)) if "(stack cut" in path], [], f"{how}: stacks with a mark")


def test_stack_of_a_large_block_names_its_callers():
    has_symbols()
    mp.equal(bytes_in(run("malloc"), "main;grow_buffer"), 2 << 20, "bytes below main;grow_buffer")


def test_stack_of_a_mapping_names_its_callers():
    has_symbols()
    mp.equal(bytes_in(run("mmap"), "main;map_file_cache", "host/mmap"), 2 << 20, "bytes below main;map_file_cache")


def test_stack_in_a_thread_names_its_callers():
    has_symbols()
    mp.equal(bytes_in(run("thread"), "in_worker;grow_buffer"), 3 << 20, "bytes below in_worker")


def test_stack_in_a_handler_on_sigaltstack_reaches_main():
    has_symbols()
    log = run("signal")
    paths = [p for p in folded(log, "host/mmap") if "on_signal;map_file_cache" in p]
    mp.check(len(paths) == 1 and "handle_on_other_stack" in paths[0], f"from main through the signal: {folded(log, 'host/mmap')}")


def test_stack_in_a_forked_child_is_in_its_own_log():
    has_symbols()
    logs = mp.run([mp.victim("stacks"), "fork"]).logs.all()
    child, = [log for log in logs if bytes_in(log, "in_child;grow_buffer") == 4 << 20]
    mp.check(child.process["pid"] != child.process["ppid"], "two processes")


def test_oom_shows_the_stack_of_a_failed_allocation():
    has_symbols()
    story = report(run("fail"), "oom")
    line, = [l for l in story.splitlines() if "Cannot allocate memory" in l]
    mp.check("ask_for_too_much" in line, story)


def test_every_block_has_a_stack_with_stacks_all():
    has_symbols()
    log = run("small", MEMPROF_STACKS="all")
    mp.equal(bytes_in(log, "main;grow_buffer"), 100, "bytes below grow_buffer")
    mp.equal(bytes_in(run("small", MEMPROF_STACKS="large"), "main;grow_buffer"), 0, "bytes below it with stacks=large")


def host_heap(log):
    peaks = json.loads(report(log, "peaks", "--by", "stack", "--format", "json", "--heap", "host/heap"))
    heap, = peaks["logs"][0]["heaps"]
    return heap


def test_small_blocks_are_sampled_by_their_bytes():
    """200,000 blocks of 1000 bytes: the number of samples is within six standard deviations of what it should be."""
    for settings, mean in (({}, 512 << 10), ({"MEMPROF_STACKS": "sample:16K"}, 16 << 10)):
        heap = host_heap(run("many", **settings))
        share = 1 - math.exp(-1000 / mean)
        expected, error = 200000 * share, 6 * math.sqrt(200000 * share * (1 - share))
        mp.within(heap["estimated_from_samples"], expected - error, expected + error, f"samples for {settings}")
        mp.equal(sum(r["bytes_at_peak"] for r in heap["ranges"] if r["path"]), heap["peak_bytes"], "estimated bytes")


def test_estimates_of_call_sites_err_as_they_say():
    """The mean squared error of 60 estimates, in units of the error that each states, is near 1."""
    has_symbols()
    held = {"hold_name": 200000 * 64, "hold_row": 10000 * 3000, "hold_page": 500 * 60000}
    squares = []
    for _ in range(20):
        for row in host_heap(run("sites"))["ranges"]:
            site = next((s for s in held if any(s in frame for frame in row["path"])), None)
            if site:
                squares.append(((row["bytes_at_peak"] - held[site]) / row["error_bytes"]) ** 2)
    mp.equal(len(squares), 60, "estimates of three sites in 20 runs")
    mp.check(0.2 < sum(squares) / 60 < 2.5, f"mean squared error: {sum(squares) / 60:.2f}")


def test_stacks_off_records_no_stack():
    log = run("malloc", MEMPROF_STACKS="off")
    info = report(log, "log", "info")
    mp.check("STACK" not in info and "MODULE" not in info, info)


def test_invalid_stacks_value_is_warned_about():
    result = mp.run([mp.victim("stacks"), "malloc"], env={"MEMPROF_STACKS": "some"})
    mp.check(b"invalid MEMPROF_STACKS 'some': expected off" in result.err, result.err)


def test_ranges_keep_their_names_with_stacks_all():
    argv = [mp.victim("range_names"), "distinct", "20"]
    plain, all_ = (mp.run(argv, env={"MEMPROF_STACKS": mode}, status=None).logs.one() for mode in ("off", "all"))
    mp.equal(sorted(all_.ranges()), sorted(plain.ranges()), "ranges")
    mp.check(not any("not known" in path for path in all_.ranges()), f"names: {list(all_.ranges())}")


def test_totals_are_the_same_with_stacks_all():
    argv = [mp.victim("work"), "20000"]
    plain, all_ = (mp.run(argv, env={"MEMPROF_STACKS": mode}).logs.one() for mode in ("off", "all"))
    mp.whole(all_)
    for key in ("allocations", "frees", "peak_bytes", "end_bytes"):
        mp.equal(all_.heap()[key], plain.heap()[key], key)


def reload(how, one="alpha", stacks="all"):
    """Runs a program that closes a library and opens gamma at its place."""
    argv = [mp.victim("reload"), how, mp.victim(f"lib{one}.so"), mp.victim("libgamma.so")]
    return mp.run(argv, env={"MEMPROF_STACKS": stacks})


def at_one_place(how, one):
    result = reload(how, one)
    mp.equal(set(result.out.split()), {b"0"}, "bytes from one library to the other")
    return result.logs


def made_by(log):
    """Returns {innermost four functions: bytes} of the blocks that the two libraries allocated."""
    paths = [(path.split(";"), size) for path, size in folded(log).items()]
    return {";".join(path[-4:]): size for path, size in paths if path[-1].endswith("_makes")}


def test_library_at_a_reused_address_has_its_own_function_names():
    """delta's frames are as large as gamma's, so both have the same addresses in their stacks. alpha's are not."""
    has_symbols()
    for one in ("delta", "alpha"):
        log = at_one_place("turns", one).one()
        mp.whole(log)
        mp.equal(made_by(log), {f"turn;use;go;{one}_makes": 3000, "turn;use;go;gamma_makes": 3000}, "bytes")


def test_library_at_a_reused_address_in_a_child_has_its_own_names():
    has_symbols()
    parent, child = sorted(at_one_place("child", "alpha").all(), key=lambda log: log.process["pid"])
    mp.equal(made_by(parent), {"in_child;use;go;alpha_makes": 1000}, "the parent's bytes")
    mp.equal(made_by(child), {"turn;use;go;gamma_makes": 1000}, "the child's bytes")


def test_dlopen_and_dlclose_while_threads_allocate_lose_no_event():
    log = reload("threads").logs.one()
    mp.whole(log)
    mp.within(log.live_blocks(), 0, 20, "live blocks: the loader's lists, not one of each of a thousand turns")


def test_dlopen_and_dlclose_in_a_signal_handler_lose_no_event():
    log = reload("handler").logs.one()
    mp.whole(log)
    mp.equal(log.live_blocks("host/mmap"), 0, "live mappings")


def test_stack_is_complete_if_segments_have_gaps():
    has_symbols()
    for program in ("segments", "segments_fixed"):
        for how in ("plain", "moved"):
            log = mp.run([mp.victim(program), how]).logs.one()
            mp.whole(log)
            mp.equal(bytes_in(log, "main;outer;inner"), 2 << 20, f"{program} {how}: bytes below main;outer;inner")


def jit(how):
    result = mp.run([mp.victim("jit"), how], status=None)
    if result.status == 77:
        raise mp.Skip("no generated code for this processor")
    return result.logs.one()


def test_stack_passes_through_generated_code():
    has_symbols()
    path, = folded(jit("plain"))
    frames = path.split(";")
    mp.equal((frames[-4:-2], frames[-1]), (["main", "run"], "in_jit"), "calls around the generated code")
    mp.check(frames[-2].startswith("0x"), f"generated code: {frames[-2]}")


def test_generated_code_without_frame_pointers_cuts_the_stack():
    has_symbols()
    path, = folded(jit("without"))
    first, code, inner = path.split(";")
    mp.check(first == "(stack cut: caller not found)" and code.startswith("0x") and inner == "in_jit", path)


def stacks_of(path):
    return subprocess.run([os.environ["MEMPROF_REPORT"], "peaks", "--tree", "--frames=all", path], stdout=subprocess.PIPE, text=True, timeout=mp.TIMEOUT).stdout


def generated(how):
    """Checks the log of memprof run after the program's map was deleted."""
    folder = tempfile.mkdtemp(dir=os.getcwd())
    done = subprocess.run([os.environ["MEMPROF"], "run", "-q", "-o", folder, "--", mp.victim("jit"), how], timeout=mp.TIMEOUT)
    if done.returncode == 77:
        raise mp.Skip("no generated code for this processor")
    log, = glob.glob(os.path.join(folder, "jit.*.zst"))
    os.unlink(f"/tmp/perf-{log.split('.')[-2]}.map")
    return log


def test_generated_code_is_named_by_the_perf_map():
    """memprof run keeps the map that the program wrote. Without it the report names what is missing."""
    has_symbols()
    for how, name in (("map", "script_a a.js:1"), ("replaced", "script_b a.js:1, or 1 other")):
        log = generated(how)
        shown = stacks_of(log)
        mp.check(f"{name} (generated code)" in shown and "no names of generated code" not in shown, shown)
        os.unlink(log + ".perfmap")
        shown = stacks_of(log)
        mp.check(f"no names of generated code: {os.path.basename(log)}.perfmap does not exist" in shown and name not in shown, shown)


def test_untrusted_perf_map_is_not_kept():
    for how in ("open", "old"):
        mp.check(not os.path.exists(generated(how) + ".perfmap"), f"{how}: the map was kept")


def test_library_with_an_unreadable_first_page_does_no_harm():
    result = mp.run([mp.victim("segments"), "hidden", mp.victim("libalpha.so")])
    mp.whole(result.logs.one())


if __name__ == "__main__":
    mp.main()
