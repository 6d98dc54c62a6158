"""In programs that define their own malloc, hooks may be called under its lock, and its blocks are not recorded."""
import mp

OWN = {"malloc", "calloc", "realloc", "free"}       # the functions that own_lock defines


def rows():
    return mp.bare([mp.victim("own_lock")])[1].decode().split()


def test_own_malloc_tests_cover_every_hook():
    mp.equal(set(rows()), mp.hooks() - OWN, "functions")


def test_own_malloc_can_call_any_hook_while_it_holds_its_lock():
    for name in rows():
        expected = mp.bare([mp.victim("own_lock"), name])
        mp.check(expected[0] == 0, f"{name}, bare: {expected}")
        result = mp.run([mp.victim("own_lock"), name], env={"MEMPROF_QUIET": "1"})
        mp.equal((result.status, result.out, result.err), expected, name)


def test_program_with_its_own_malloc_is_recorded_without_its_blocks():
    """The program's mappings are recorded, the C library's blocks are not a heap, and one line names the object with
    that malloc."""
    result = mp.run([mp.victim("own_lock"), "mmap"])
    mp.check(result.err.startswith(b"memprof: own_lock provides malloc instead of libmemprof.so: "), f"no message: {result.err}")
    mp.equal(result.err.count(b"malloc"), 1, f"lines about malloc: {result.err}")
    log = result.logs.one()
    mp.whole(log)
    mp.equal(log.json["unseen_malloc"], "own_lock", "the allocator")
    mp.equal([h["heap"] for h in log.json["heaps"]], ["host/mmap"], "heaps")
    mp.equal(log.heap("host/mmap")["allocations"] > 0, True, "mappings under the lock")
    mp.check("unseen_malloc" not in mp.run([mp.victim("work"), "10"]).logs.one().json, "a program with none")


if __name__ == "__main__":
    mp.main()
