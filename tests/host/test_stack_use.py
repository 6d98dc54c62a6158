"""memprof's hooks use little of the caller's stack, because stacks of coroutines and signal handlers are small."""
import mp

MOST = 512      # bytes beyond the real call
EXTRA = {"malloc_large"}


def names():
    return mp.bare([mp.victim("stack_use")])[1].decode().split()


def test_stack_use_tests_cover_every_hook():
    mp.equal(set(names()), mp.hooks() | EXTRA, "functions")


def test_hooks_use_at_most_512_bytes_of_stack():
    over = {}
    for name in names():
        argv = [mp.victim("stack_use"), name]
        bare, preloaded = int(mp.bare(argv)[1]), int(mp.run(argv, env={"MEMPROF_STACKS": "off"}).out)
        if preloaded > bare + MOST:
            over[name] = (bare, preloaded)
    mp.equal(over, {}, "bytes, bare and under memprof")


if __name__ == "__main__":
    mp.main()
