"""A request for huge pages that the kernel's pool does not have is not reported as out of memory."""
import json
import os
import subprocess

import mp

TIB = 1 << 40


def refusals(path):
    out = subprocess.run([os.environ["MEMPROF_REPORT"], "summary", "--format", "json", path], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(out).get("refused", {"failures": 0})["failures"]


def test_a_missing_pool_of_huge_pages_is_not_a_refusal_of_memory():
    result = mp.run([mp.victim("huge_pages")], env={"MEMPROF_MIN_RSS": "0"})
    huge, refused = (int(n) for n in result.out.split())
    if not huge:
        raise mp.Skip("this machine has a pool of huge pages")
    log = result.logs.one()
    private, shared = log.heap("host/mmap"), log.heap("host/shm")
    mp.equal((private["failures"], private["huge_page_failures"]), (refused, 1), "failures of private mappings")
    mp.equal(private["largest_huge_page_failure_bytes"], TIB, "bytes of huge pages")
    mp.equal((shared["failures"], shared["huge_page_failures"]), (0, huge - 1), "failures of shared mappings")
    mp.equal(refusals(log.path), refused, "refusals in the summary")


if __name__ == "__main__":
    mp.main()
