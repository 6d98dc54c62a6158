"""A log exported as a trace for Perfetto follows the format's rules, and its slices, counters and instants agree with reports.

test_perfetto.py NAME, with MEMPROF_REPORT, MAKE_LOG, MAKE_GPU_LOG and GOLDEN set. protoc_decodes_the_trace needs protoc on PATH."""
import collections
import glob
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from exports import GOLDEN, REPORT, check, golden, made, report
from wire import fields, message

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
CLEARED, NEEDED = 1, 2
SKIPPED = 77
PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "perfetto.proto")


def export(*words):
    return subprocess.run([REPORT, "export", "--to", "perfetto", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


Slice = collections.namedtuple("Slice", "name begin end track depth")


class Trace:
    """Checks the rules of trace_packet.proto, track_event.proto and track_descriptor.proto."""

    def __init__(self, data):
        self.tracks, self.counters, self.slices, self.instants = {}, collections.defaultdict(list), [], []
        self.names, events, state = {}, [], False
        for field, packet in fields(data):
            check(field == 1, "no packet")
            packet_fields = message(packet)
            check(packet_fields[10] == [1] and sum(bool(packet_fields[f]) for f in (6, 11, 60)) == 1, "a packet of two kinds")
            state = state or bool(packet_fields[13] and packet_fields[13][0] & CLEARED)
            check(state, "a packet before the state is cleared")
            for interned in packet_fields[12]:
                for name in map(message, message(interned)[2]):
                    check(name[1][0] not in self.names, "a name is defined twice")
                    self.names[name[1][0]] = name[2][0].decode()
            if packet_fields[60]:
                self.describe(message(packet_fields[60][0]))
            if packet_fields[11]:
                events.append((packet_fields[8][0], message(packet_fields[11][0]), packet_fields[13]))
        events.sort(key=lambda e: e[0])
        self.open = collections.defaultdict(list)
        for time, event, flags in events:
            self.apply(time, event, flags)
        check(not any(self.open.values()), "a slice without an end", self.open)
        check(all(t["parent"] in self.tracks for t in self.tracks.values() if t["parent"]), "a track has an unknown parent")
        self.times = [e[0] for e in events]

    def describe(self, track):
        check(track[1][0] and track[1][0] not in self.tracks, "a track is defined twice", track)
        thread, process = (message(track[n][0]) if track[n] else None for n in (4, 3))
        self.tracks[track[1][0]] = {"parent": track[5][0] if track[5] else 0, "name": track[2][0].decode() if track[2] else "", "is_counter": bool(track[8]),
                                   "tid": thread and thread[2][0], "pid": (thread or process or {1: [0]})[1][0], "thread": thread and thread[5][0].decode(),
                                   "process": process and process[6][0].decode(), "command": process and [c.decode() for c in process[2]]}

    def apply(self, time, event, flags):
        kind, track = event[9][0], event[11][0]
        check(track in self.tracks and self.tracks[track]["is_counter"] == (kind == COUNTER), "an event's track is none, or of another kind")
        stack = self.open[track]
        if kind == COUNTER:
            self.counters[self.tracks[track]["parent"], self.tracks[track]["name"]].append((time, event[30][0]))
        elif kind == BEGIN:
            check(flags == [NEEDED], "a name's number is of a state that is not asked for")
            stack.append((self.names[event[10][0]], time))
        elif kind == END:
            check(stack, "the end of nothing")
            name, begin = stack.pop()
            self.slices.append(Slice(name, begin, time, track, len(stack)))
        else:
            more = {m[10][0].decode(): (m[6][0].decode() if m[6] else m[3][0]) for m in map(message, event[4])}
            self.instants.append((time, event[23][0].decode(), more))


def trace(*words, status=0):
    done = export("-o", "-", *words)
    check(done.returncode == status, words, done.returncode, done.stderr.decode())
    return Trace(done.stdout)


def logs(folder):
    return [*sorted(glob.glob(os.path.join(GOLDEN, "*.zst"))), made(folder, "MAKE_LOG", "whole"), made(folder, "MAKE_LOG", "spike", "20"),
            *(made(folder, "MAKE_GPU_LOG", s) for s in ("graphs", "serving", "expandable", "names"))]


# ---- content

def counters_match_the_heaps(folder):
    for log in logs(folder):
        read = trace(log)
        process, = (t for t, track in read.tracks.items() if track["process"] is not None)
        for h in report("peaks", log)["logs"][0]["heaps"]:
            points = read.counters[process, h["heap"]]
            check(max(v for _, v in points) == h["peak_bytes"], log, h["heap"], "peak")
            check(points[-1][1] == h["end_bytes"] or "host-sample" in log, log, h["heap"], "end", points[-1], h["end_bytes"])     # estimates end after the last event
            check(len(points) <= 2 * 4096 + 2, log, h["heap"], "is bounded", len(points))
    read = trace(golden("h200-pytorch"))
    check({"RSS", "gpu0 used"} <= {name for _, name in read.counters}, "the trace has the counters of the kernel and of the driver")


def slices_match_the_range_instances(folder):
    for log in logs(folder):
        read, path = trace(log), os.path.join(folder, "instances.sqlite")
        done = subprocess.run([REPORT, "export", "--to", "sqlite", "-o", path, log], stderr=subprocess.PIPE)
        if b"built without SQLite" in done.stderr:
            print("skipped: the instances need SQLite")
            sys.exit(SKIPPED)
        check(done.returncode in (0, 3), log, done.stderr.decode())
        db = sqlite3.connect(path)
        zero, = db.execute("SELECT start_realtime_ns FROM processes").fetchone()
        wanted = collections.Counter()
        for name, begin, end, tid in db.execute("""SELECT ranges.name, begin_ns, end_ns, tid FROM instances JOIN ranges USING (process_id, range_id)
                                                   JOIN threads USING (process_id, thread_id)"""):
            wanted[name, (zero or 0) + begin, (zero or 0) + end, tid] += 1
        found = collections.Counter()
        for s in read.slices:
            track = read.tracks[s.track]
            domain, thread = ("", track) if track["thread"] is not None or not track["parent"] or read.tracks[track["parent"]]["process"] is not None else (track["name"] + ":", read.tracks[track["parent"]])
            found[domain + s.name, s.begin, s.end, thread["tid"]] += 1
        check(found == wanted, log, "slices", (found - wanted).most_common(3), (wanted - found).most_common(3))
        check(sum(found.values()) == sum(wanted.values()), log, "slices", sum(found.values()), sum(wanted.values()))
        db.close()
    deep = max(s.depth for s in trace(golden("h200-pytorch")).slices)
    check(deep > 0, "slices nest")


def threads_and_processes_are_named(folder):
    log = golden("h200-pytorch")
    read = trace(log)
    threads = {(t["tid"], t["thread"]) for t in read.tracks.values() if t["thread"] is not None}
    check({(2465, "python3"), (2490, "pt_autograd_0")} <= threads, threads)
    process, = (t for t in read.tracks.values() if t["process"] is not None)
    check(process["pid"] == 2465 and process["command"] == ["python3"] and all(t["pid"] == 2465 for t in read.tracks.values() if t["thread"] is not None), process)
    check({t["name"] for t in read.tracks.values() if t["parent"] and not t["is_counter"]} == {"torch"}, "PyTorch's ranges have tracks of their own")


def graphs_and_failures_become_instant_events(folder):
    log = golden("h200-graphs-oom")
    read = trace(log)
    count = collections.Counter(name for _, name, _ in read.instants)
    oom = report("oom", log)["logs"][0]["ooms"]
    check(count["graph captured"] + count["graph instantiated"] == len(report("graphs", log)["graphs"]) > 0, count)
    check(count["PyTorch: out of memory"] == 1 and count["driver: out of memory"] >= 1, count)
    one, = (more for _, name, more in read.instants if name == "PyTorch: out of memory")
    check(one["heap"] == "gpu0/torch" and one["bytes asked for"] in [o["bytes"] for o in oom], one, [o["bytes"] for o in oom])


def trace_can_be_limited_to_a_time_span(folder):
    log = golden("h100-spike")
    some = trace("--from", "forward:3", "--until", "forward:3.end", log)
    whole = [s for s in trace(log).slices if s.name == "forward"][2]
    names = collections.Counter(s.name for s in some.slices)
    check(names["step"] == names["forward"] == 1 and not names["backward"], names)
    check(all(whole.begin <= s.begin <= s.end <= whole.end for s in some.slices), "slices that begin earlier or end later are cut")
    check(min(some.times) >= whole.begin and max(some.times) <= whole.end, "nothing is outside")
    only = trace("--heap", "gpu0/torch", log)
    check([name for (_, name), _ in only.counters.items() if "/" in name] == ["gpu0/torch"], "--heap")


def several_logs_become_one_trace(folder):
    ranks = [golden(f"h200-nccl-rank{i}") for i in (0, 1)]
    both, each = trace(*ranks), [trace(r) for r in ranks]
    names = [t["process"] for t in both.tracks.values() if t["process"] is not None]
    check([n.split(":")[0] for n in names] == ["rank 0", "rank 1"], names)
    check(len(both.slices) == sum(len(t.slices) for t in each) > 0 and sorted(both.times) == sorted(each[0].times + each[1].times), "slices")


def same_pid_on_two_hosts_becomes_two_processes(folder):
    logs = [made(folder, "MAKE_GPU_LOG", s) for s in ("graphs", "serving")]
    alone, read = trace(logs[0]), trace(*logs)
    real, = (t["pid"] for t in alone.tracks.values() if t["process"] is not None)
    (first, name), (second, other) = ((t["pid"], t["process"]) for t in read.tracks.values() if t["process"] is not None)
    check(first == real and second > 1 << 22 and f"({real})" not in name and other.endswith(f" ({real})"), first, name, second, other)
    threads = [(t["pid"], t["tid"]) for t in read.tracks.values() if t["thread"] is not None]
    check(len(set(threads)) == len(threads) and {p for p, _ in threads} == {first, second} and len({t for _, t in threads}) == len(threads), threads)


def names_can_contain_any_bytes(folder):
    names = {s.name for s in trace(made(folder, "MAKE_GPU_LOG", "names")).slices}
    check(any("\ufffd" in n for n in names) and any(len(n) > 300 for n in names), names)


def protoc_decodes_the_trace(folder):
    """Google's own parser knows each field."""
    if not shutil.which("protoc"):
        print("skipped: protoc is not installed")
        sys.exit(SKIPPED)
    data = export("-o", "-", golden("h200-graphs-oom")).stdout
    text = subprocess.run(["protoc", f"--proto_path={os.path.dirname(PROTO)}", "--decode=perfetto.protos.Trace", os.path.basename(PROTO)], input=data, stdout=subprocess.PIPE,
                          check=True).stdout.decode()
    check(not re.search(r"^\s*\d+[: ]", text, re.M), "a field that is none")
    check(text.count("\npacket {") + 1 == sum(1 for _ in fields(data)), "packets")
    for wanted in ('process_name: "', 'name: "gpu0/torch"', "unit: UNIT_SIZE_BYTES", "type: TYPE_SLICE_BEGIN", "type: TYPE_SLICE_END", 'name: "PyTorch: out of memory"'):
        check(wanted in text, wanted)


# ---- failures

def failed_export_keeps_the_old_file(folder):
    good, old = golden("h200-pytorch"), os.path.join(folder, "old.pftrace")
    with open(old, "w") as f:
        f.write("what was there")
    for words, status, word in (([os.path.join(folder, "no.zst")], 1, "no.zst"), (["--from=2ms", "--until=1ms", good], 1, "--until"), (["--min", "1MiB", good], 2, "--min")):
        done = export("-o", old, *words)
        check(done.returncode == status and word in done.stderr.decode(), words, done)
        with open(old) as f:
            check(f.read() == "what was there", words, "the old file is gone")
    done = subprocess.run(["bash", "-c", 'ulimit -f 16; trap "" XFSZ; exec "$@"', "bash", REPORT, "export", "--to", "perfetto", "-o", old, golden("h100-spike")],
                          stderr=subprocess.PIPE, text=True)
    check(done.returncode == 1 and old in done.stderr and os.listdir(folder) == ["old.pftrace"], "a full disk", done, os.listdir(folder))
    done = export("-o", old, os.path.join(folder, "no.zst"), good)
    check(done.returncode == 1, "one of two is no log", done)
    with open(old, "rb") as f:
        check(len(Trace(f.read()).slices) == len(trace(good).slices), "the intact parts of both are in the trace")
    trace(made(folder, "MAKE_LOG", "lossy"), status=3)


with tempfile.TemporaryDirectory() as temporary:
    globals()[sys.argv[1]](temporary)
