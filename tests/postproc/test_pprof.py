"""A log exported as a profile for pprof follows the format's rules, and its sums are those of reports.

test_pprof.py NAME, with MEMPROF_REPORT, MAKE_LOG, MAKE_GPU_LOG, MAKE_STACK_LOG and GOLDEN set. tool_prints_the_sums_of_the_reports needs go on
PATH."""
import collections
import glob
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile

from exports import GOLDEN, REPORT, check, golden, made, report
from wire import message, numbers

TYPES = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]
NOT_BLOCK_BY_BLOCK = "host/mmap", "host/shm", "host/python", "host/pinned"      # counted by pages, a sample, and more frees than allocations seen
SKIPPED = 77


def export(*words):
    return subprocess.run([REPORT, "export", "--to", "pprof", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


# ---- the fields of profile.proto

class Profile:
    def __init__(self, packed):
        whole = message(gzip.decompress(packed))
        self.text = [t.decode() for t in whole[6]]
        check(self.text[0] == "" and len(set(self.text)) == len(self.text), "the table of strings")
        types = [message(t) for t in whole[1]]
        check([self.text[t[1][0]] for t in types] == TYPES and [self.text[t[2][0]] for t in types] == ["count", "bytes"] * 2, "types")
        check(self.text[whole[14][0]] == "inuse_space", "the type that is shown first")
        self.mapping, self.location, self.function = (self.by_id(whole[n]) for n in (3, 4, 5))
        self.sample = [self.read_sample(s) for s in whole[2]]
        self.time, self.duration = whole[9][0], whole[10][0]

    @staticmethod
    def by_id(all_of):
        out = {m[1][0]: m for m in map(message, all_of)}
        check(len(out) == len(all_of) and 0 not in out, "ids are not one each")
        return out

    def lines(self, location):
        """Returns (function, file, line), innermost first."""
        fields = self.location[location]
        check(fields[2] and fields[2][0] in self.mapping, "a location is nowhere")
        out = []
        for line in map(message, fields[4]):
            function = self.function[line[1][0]]
            out.append((self.text[function[2][0]], self.text[function[4][0]], line[2][0]))
        check(out, "a location without a line")
        return out

    def read_sample(self, data):
        fields = message(data)
        labels = {self.text[l[1][0]]: self.text[l[2][0]] for l in map(message, fields[3])}
        values = dict(zip(TYPES, numbers(fields[2][0])))
        check(len(values) == 4 and any(values.values()), "values", values)
        return [self.lines(l) for l in numbers(fields[1][0])], values, labels

    def sum(self, what, **labels):
        return sum(v[what] for _, v, l in self.sample if all(l.get(k) == w for k, w in labels.items()))


def profile(*words, status=0):
    done = export("-o", "-", *words)
    check(done.returncode == status, words, done.returncode, done.stderr.decode())
    return Profile(done.stdout)


def logs(folder):
    return [*sorted(glob.glob(os.path.join(GOLDEN, "*.zst"))), made(folder, "MAKE_LOG", "whole"), made(folder, "MAKE_LOG", "spike", "20"),
            *(made(folder, "MAKE_GPU_LOG", s) for s in ("graphs", "serving", "expandable")), *(made(folder, "MAKE_STACK_LOG", s) for s in ("native", "python", "sampled"))]


# ---- sums

def sums_match_the_reports(folder):
    for log in logs(folder):
        read, end = profile(log), profile("--until", "end", log)
        for h in report("peaks", log, "--by", "range")["logs"][0]["heaps"]:
            name = h["heap"]
            check(read.sum("inuse_space", heap=name) == h["peak_bytes"], log, name, "peak", read.sum("inuse_space", heap=name), h["peak_bytes"])
            check(end.sum("inuse_space", heap=name) == h["end_bytes"], log, name, "end", end.sum("inuse_space", heap=name), h["end_bytes"])
            for at, when, blocks in (read, "peak", h["blocks_at_peak"]), (end, "end", h["end_blocks"]):
                check(name.endswith("/device") or at.sum("inuse_objects", heap=name) == blocks, log, name, "blocks,", when, at.sum("inuse_objects", heap=name), blocks)
            if name not in NOT_BLOCK_BY_BLOCK and "host-" not in log and "python-" not in log and not name.endswith(("/device", "/pool")):
                check(read.sum("alloc_objects", heap=name) == h["allocations"], log, name, "allocations", read.sum("alloc_objects", heap=name), h["allocations"])
            roots = {stack[-1][0][0] for stack, _, labels in read.sample if labels["heap"] == name}
            check(roots <= {name}, log, name, "stands on", roots)


def ranges_become_labels(folder):
    log = golden("h200-pytorch")
    read = profile(log)
    wanted = collections.Counter()
    for h in report("peaks", log, "--by", "range")["logs"][0]["heaps"]:
        for r in h["ranges"]:
            wanted[h["heap"], " > ".join(r["path"])] += r["bytes_at_peak"]
    found = collections.Counter()
    for _, values, labels in read.sample:
        found[labels["heap"], labels.get("range", "")] += values["inuse_space"]
    named = {k: v for k, v in wanted.items() if v and k[1] and not k[1].startswith("capture")}
    check(len(named) > 4 and all(found[k] >= v for k, v in named.items()), found, named)
    check({l["thread"] for _, _, l in read.sample} == {"python3 (2465)", "pt_autograd_0 (2490)"} and {l["pid"] for _, _, l in read.sample} == {"2465"}, "threads")


def profile_can_be_limited_to_a_time_span(folder):
    log = golden("h100-spike")
    whole, some = profile(log), profile("--from", "step:3", "--until", "step:3.end", log)
    one = report("peaks", log, "--by", "range", "--at", "step:3.end")["logs"][0]["heaps"]
    check(some.sum("inuse_space", heap="gpu0/torch") == next(h["peak_bytes"] for h in one if h["heap"] == "gpu0/torch"), "inuse_space is live at the end of the time span")
    made_in_all = whole.sum("alloc_objects", heap="gpu0/torch")
    check(0 < some.sum("alloc_objects", heap="gpu0/torch") < made_in_all / 8, "alloc_objects counts the allocations in the time span")
    only = profile("--heap", "gpu0/torch", log)
    check({l["heap"] for _, _, l in only.sample} == {"gpu0/torch"} and only.sum("inuse_space") == whole.sum("inuse_space", heap="gpu0/torch"), "--heap")


# ---- call stacks

def calls_have_file_and_line(folder):
    frames = [f for stack, _, _ in profile(golden("h200-pytorch")).sample for lines in stack for f in lines]
    check(any(name == "Adam._init_group" and file.startswith("/") and file.endswith("torch/optim/adam.py") and line > 0 for name, file, line in frames), frames[:20])
    check(any(name == "(module)" for name, _, _ in frames) and not any(name.startswith("<") for name, _, _ in frames), "pprof leaves out what stands in <>")
    check(any(name.startswith("torch:AddmmBackward0") for name, _, _ in frames), "blocks without a call stack have the frames of their ranges")
    cut = {lines[0][0] for stack, _, _ in profile(made(folder, "MAKE_STACK_LOG", "cut")).sample for lines in stack}
    check({f"(stack cut{why})" for why in (": depth limit", ": no unwind information", ": caller not found", "")} <= cut, "cut stacks", cut)
    native = profile(made(folder, "MAKE_STACK_LOG", "native"))
    check(len(native.mapping) > 1, "object files")
    at = [l for l in native.location.values() if any(l[3])]
    check(at and all(native.mapping[l[2][0]][2][0] <= l[3][0] <= native.mapping[l[2][0]][3][0] for l in at if l[2][0] > 1), "addresses lie in their object file")


def several_logs_become_one_profile(folder):
    ranks = [golden(f"h200-nccl-rank{i}") for i in (0, 1)]
    both, each = profile(*ranks), [profile(r) for r in ranks]
    for i in (0, 1):
        check(both.sum("inuse_space", rank=str(i)) == each[i].sum("inuse_space") > 0, "rank", i)
    check(both.time == min(p.time for p in each) and both.duration >= max(p.duration for p in each), "time")


def tool_prints_the_sums_of_the_reports(folder):
    """go tool pprof prints the same sums."""
    if not shutil.which("go"):
        print("skipped: go is not installed")
        sys.exit(SKIPPED)
    path, log = os.path.join(folder, "p.pb.gz"), golden("h200-pytorch")
    check(export("-o", path, log).returncode == 0, "export")
    go = lambda *options: subprocess.run(["go", "tool", "pprof", "-unit=B", *options, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True, text=True,
                                         env={**os.environ, "HOME": folder, "PPROF_TMPDIR": folder}).stdout
    for h in report("peaks", log, "--by", "range")["logs"][0]["heaps"]:
        output = go("-top", f"-tagfocus=heap={h['heap']}", f"-focus={h['heap']}", "-cum")
        total = re.search(r"^\s*\S+\s+\S+\s+\S+\s+(\d+)B\s+\S+\s+(\S+)$", output, re.M)
        check(total and (int(total[1]), total[2]) == (h["peak_bytes"], h["heap"]), h["heap"], output)
    check("File: python3\n" in go("-top"), go("-top")[:200])
    check(go("-tags").count("step > forward"), "tags")


# ---- failures

def failed_export_keeps_the_old_file(folder):
    good, old = golden("h200-pytorch"), os.path.join(folder, "old.pb.gz")
    with open(old, "w") as f:
        f.write("what was there")
    for words, status, word in (([os.path.join(folder, "no.zst")], 1, "no.zst"), (["--from=2ms", "--until=1ms", good], 1, "--until"), (["--min", "1MiB", good], 2, "--min"),
                                (["--heap", "gpu0/tonch", good], 2, "gpu0/tonch")):
        done = export("-o", old, *words)
        check(done.returncode == status and word in done.stderr.decode(), words, done)
        with open(old) as f:
            check(f.read() == "what was there", words, "the old file is gone")
    done = subprocess.run(["bash", "-c", 'ulimit -f 1; trap "" XFSZ; exec "$@"', "bash", REPORT, "export", "--to", "pprof", "-o", old, golden("h100-lora")], stderr=subprocess.PIPE, text=True)
    check(done.returncode == 1 and old in done.stderr and os.listdir(folder) == ["old.pb.gz"], "a full disk", done, os.listdir(folder))
    done = export("-o", old, os.path.join(folder, "no.zst"), good)
    check(done.returncode == 1, "one of two is no log", done)
    with open(old, "rb") as f:
        check(Profile(f.read()).sum("inuse_space") == profile(good).sum("inuse_space"), "the intact parts of both are in the profile")
    profile(made(folder, "MAKE_LOG", "lossy"), status=3)


with tempfile.TemporaryDirectory() as temporary:
    globals()[sys.argv[1]](temporary)
