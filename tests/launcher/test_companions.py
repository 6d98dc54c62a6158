"""Under the launcher, programs that call an allocator's own API have every allocation and every free recorded once."""
import os
import subprocess

import mp


def exact(name, mode="all"):
    """Compares the program's own counters with the range that contains all its calls."""
    program = mp.victim(f"api_{name}")
    if not os.path.exists(program):
        raise mp.Skip(f"{name} is not here")
    done = subprocess.run([os.environ["MEMPROF"], "run", "--host", mode, "-o", "logs", "--", program], cwd=mp.folder, stdout=subprocess.PIPE,
                          timeout=mp.TIMEOUT, check=True, text=True)
    allocations, blocks, size = map(int, done.stdout.split())
    log = mp.Logs(os.path.join(mp.folder, "logs")).one()
    mp.whole(log)
    end = log.at_end().range("api")
    mp.equal((end["allocations"], end["blocks_at_peak"], end["bytes_at_peak"]), (allocations, blocks, size),
             "allocations, blocks and bytes at the end")
    mp.equal(log.heap()["failures"], 0, "failed allocations")


def sampled(name):
    """With a mean of a byte each block of five bytes or more is recorded, so this mode must be exact, too."""
    exact(name, "sample:1")


def test_jemalloc_api_is_recorded_exactly():
    exact("jemalloc")


def test_tcmalloc_api_is_recorded_exactly():
    exact("tcmalloc")


def test_mimalloc_api_is_recorded_exactly():
    exact("mimalloc")


def test_jemalloc_api_is_sampled_exactly():
    sampled("jemalloc")


def test_tcmalloc_api_is_sampled_exactly():
    sampled("tcmalloc")


def test_mimalloc_api_is_sampled_exactly():
    sampled("mimalloc")


if __name__ == "__main__":
    mp.main()
