"""Resident memory that no allocation explains has a kind, its bytes and its file."""
import json
import os
import subprocess
import tempfile

import mp

MIB = 1 << 20


def report(command, path):
    out = subprocess.run([os.environ["MEMPROF_REPORT"], command, "--format", "json", path], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(out)


def run_until_sampled(kind, key):
    """Runs the program; lets it release its 64 MiB once a sample in its log has them."""
    argv, logs = [mp.victim("resident_kinds"), kind], mp.fresh()
    process = mp.start(argv, logs, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def sampled():
        mp.check(process.poll() is None, f"{argv} ended before it was sampled")
        paths = mp.Logs(logs).paths()
        out = subprocess.run([os.environ["MEMPROF_REPORT"], "peaks", "--format", "json", *paths], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        return out and (json.loads(out)["logs"][0].get("resident") or {}).get(key, 0) >= 64 * MIB

    mp.wait_for(sampled)
    process.stdin.write(b"\n")
    return mp.finish(process, argv, logs)


def facts(result):
    """Returns the program's bytes, the sample of resident memory, and the first finding."""
    path = result.logs.one().path
    sample = report("peaks", path)["logs"][0]["resident"]
    rss = report("summary", path)["rss_high_water_bytes"]
    mp.check(abs(sample["resident_bytes"] - rss) < 2 * MIB + rss // 64, f"{sample['resident_bytes']} of {rss} bytes have a kind")
    return int(result.out), sample, report("summary", path)["findings"][0]


def resident(*arguments):
    return facts(mp.run([mp.victim("resident_kinds"), *arguments]))


def near(bytes_, right, slack, what):
    mp.check(right <= bytes_ < right + slack, f"{what}: {bytes_}, at least {right}")


def test_resident_memory_has_stacks_of_threads():
    right, sample, finding = resident("stacks")
    near(sample["stack_bytes"], right, 2 * MIB, "stacks")
    mp.equal(sample["stacks"], 17, "stacks, with the main thread's")
    mp.equal(finding["finding"], "thread_stacks", "first finding")
    mp.equal(finding["numbers"]["resident_bytes"], sample["stack_bytes"], "bytes of the finding")


def test_resident_memory_of_static_data_names_the_program():
    right, sample, finding = resident("static")
    near(sample["data_bytes"], right, 2 * MIB, "static data")
    mp.equal(os.path.basename(sample["largest_data"]), "resident_kinds", "largest data")
    mp.equal(finding["finding"], "static_data", "first finding")


def test_resident_memory_of_a_file_mapped_twice_names_it_once():
    with tempfile.TemporaryDirectory() as folder:
        right, sample, finding = resident("file", os.path.join(folder, "index.bin"))
    near(sample["file_bytes"], right, 2 * MIB, "mapped files")
    mp.equal(os.path.basename(sample["largest_file"]), "index.bin", "largest file")
    mp.equal(finding["finding"], "file_mappings", "first finding")
    mp.equal(finding["numbers"]["largest_bytes"], right, "bytes of the file")


def test_resident_memory_does_not_include_page_tables():
    right, sample, finding = resident("tables")
    near(sample["page_table_bytes"], right, 2 * MIB, "page tables")
    mp.equal(finding["finding"], "page_tables", "first finding")


def test_resident_memory_has_stacks_of_threads_that_ended():
    """These threads allocate nothing. The name of the second one starts the worker, and the worker starts the encoder."""
    right, sample, finding = facts(run_until_sampled("ended", "stack_bytes"))
    near(sample["stack_bytes"], right, 2 * MIB, "stacks")
    mp.equal(finding["finding"], "thread_stacks", "first finding")


def test_resident_memory_that_the_program_gave_back_has_the_time_of_its_peak():
    """A large mapping starts the encoder, which samples it while it is resident."""
    result = run_until_sampled("dropped", "resident_bytes")
    path, right = result.logs.one().path, int(result.out)
    mp.check(right, "the encoder did not start")
    peak = report("summary", path)["rss_peak"]
    near(peak["bytes"], right, 16 * MIB, "peak")
    near(peak["after_bytes"], right, 16 * MIB, "sample at the peak")
    end = report("peaks", path)["logs"][0]["duration_ns"]
    mp.check(peak["to_ns"] < end, f"{peak} in {end} ns")


def test_large_blocks_are_listed_by_what_is_resident_of_them():
    """The kernel joins the mappings of the blocks, and memprof knows its pages in parts of a 96th."""
    result = mp.run([mp.victim("resident_kinds"), "part"], env={"MEMPROF_MIN_RSS": "0"})
    path, right = result.logs.one().path, int(result.out)
    used, reserved = report("peaks", path)["logs"][0]["resident_owners"]
    slack = 9 * right // 96 + MIB
    for owner, resident_bytes, bytes_ in ((used, right, right), (reserved, right // 4, 8 * right)):
        mp.check(abs(owner["resident_bytes"] - resident_bytes) <= slack, f"{owner}: {resident_bytes} are resident")
        near(owner["bytes"], bytes_, MIB, "bytes")


def test_kinds_of_the_cgroups_charge_are_sampled():
    result = run_until_sampled("dropped", "resident_bytes")
    largest = report("peaks", result.logs.one().path)["logs"][0]["largest"].get("cgroup")
    if not largest:
        raise mp.Skip("no memory cgroup")
    kinds = [largest[f"{kind}_bytes"] for kind in ("anon", "cache", "shmem")]
    mp.check(0 < max(kinds) <= max(largest["usage_bytes"], largest["peak_bytes"]), f"{largest}")
    mp.check(largest["anon_bytes"] >= int(result.out), f"{largest} has less than the program")


if __name__ == "__main__":
    mp.main()
