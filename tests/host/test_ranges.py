"""Thousands of range names and unusual range names are recorded."""
import mp


def test_range_names_beyond_the_limit_share_one_entry():
    """memprof keeps a limited number of names. Further ones share one name, and all bytes are counted."""
    log = mp.run([mp.victim("range_names"), "distinct", "100000"]).logs.one()
    mp.check(log.json["complete"], "not complete")
    ranges = log.ranges()
    named = {path: r for path, r in ranges.items() if path.startswith("range ")}
    mp.check(len(named) > 60000, f"only {len(named)} names")
    mp.equal(set((r["allocations"], r["own_peak_bytes"]) for r in named.values()), {(1, 100)}, "a named range")
    mp.equal(sum(r["allocations"] for path, r in ranges.items() if path), 100000, "blocks in all ranges")
    mp.equal(sum(r["bytes_at_peak"] for r in ranges.values()), log.heap()["peak_bytes"], "sum of the ranges")


def test_unusual_range_names_are_recorded():
    """The output is valid JSON with all names. A name of a megabyte is cut."""
    log = mp.run([mp.victim("range_names"), "odd"]).logs.one()
    mp.whole(log)
    paths = [p for p, r in log.ranges().items() if r["bytes_at_peak"] == 100]
    mp.equal(len(paths), 7, f"ranges: {paths}")
    for name in ("</script><script>alert(1)</script>", "tab\tnewline\nbell\aescape\033[31m", 'quote"backslash\\', "whole \u00e9 utf-8"):
        mp.check(name in paths, f"{name!r} is not in {paths}")
    mp.check(max(map(len, paths)) < 5000, "a megabyte of a name")


if __name__ == "__main__":
    mp.main()
