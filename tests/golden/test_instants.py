"""If --at gets a time that a report printed, the report has that report's numbers to the byte, for logs of H200s and generated
logs.

test_instants.py [--all]: at some instants of each log, or at three times as many. MEMPROF_REPORT, MAKE_LOG and MAKE_GPU_LOG
must be set."""
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MADE = [("MAKE_LOG", "ticks", "200000"), ("MAKE_LOG", "whole"), ("MAKE_LOG", "mixed", "60000"), ("MAKE_GPU_LOG", "segments"), ("MAKE_GPU_LOG", "reset")]
INSTANTS = 12 if "--all" in sys.argv else 4
WIDTH_OF_OOM = 1


def text(command, *options):
    return subprocess.run([os.environ["MEMPROF_REPORT"], command, *options], stdout=subprocess.PIPE, check=True, text=True).stdout


def report(command, *options):
    return json.loads(text(command, "--format", "json", *options))


def state(log, at):
    """Returns {heap: (bytes, {path: bytes})} at an instant."""
    heaps = report("peaks", "--by", "range", "--at", at, log)["logs"][0]["heaps"]
    return {h["heap"]: (h["peak_bytes"], {tuple(r["path"]): r["bytes_at_peak"] for r in h["ranges"] if r["bytes_at_peak"]}) for h in heaps}


def clock(ns, width):
    """Returns the time as reports print it."""
    digits = {10 ** 6: 3, 10 ** 3: 6, 1: 9}[width]
    return f"{ns // 3600 // 10 ** 9:02}:{ns // 60 // 10 ** 9 % 60:02}:{ns // 10 ** 9 % 60:02}.{ns % 10 ** 9 // 10 ** (9 - digits):0{digits}}"


class Differences:
    def __init__(self):
        self.compared, self.found = 0, []

    def compare(self, got, expected, what):
        self.compared += 1
        if got != expected:
            self.found.append(f"{what}: {got}, expected {expected}")


def check_accounts(log, name, differences, dice):
    """Checks the uses of a device's bytes at instants spread over the run, at its peak, and when memory ran out."""
    for device in report("timeline", log)["devices"]:
        instants = list(enumerate(device["instants"]))
        exact, spread = ([i for i in instants if (i[1]["kind"] == "spread") == kind] for kind in (False, True))
        for i, instant in exact + dice.sample(spread, min(INSTANTS, len(spread))):
            at = f"{instant['time_ns']}ns"
            same_device, = (d for d in report("peaks", "--at", at, log)["logs"][0]["devices"] if d["index"] == device["index"])
            parts = {p["part"]: p["bytes"][i] for p in device["parts"] if p["bytes"][i]}
            what = f"{name} gpu{device['index']} at {at}"
            differences.compare(parts, {p["part"]: p["bytes"] for p in same_device["parts"] if p["bytes"]}, what)
            differences.compare(instant["bytes"], sum(parts.values()), f"{what}, their sum")
        differences.compare([i["kind"] for _, i in exact].count("peak"), 1, f"{name}, peaks")


def check_timeline(log, name, differences, dice):
    """Checks the maximum of a bucket and its owners."""
    for buckets in ("2048", "40"):
        timeline = report("timeline", "--by", "range", "--buckets", buckets, log)
        for heap in timeline["heaps"]:
            has_estimates = timeline.get("host_blocks") == "sample" and heap["heap"] == "host/heap"  # bands have no estimates
            spans = heap["spans"]
            for i in dice.sample(range(len(spans["start_ns"])), min(INSTANTS, len(spans["start_ns"]))):
                at = spans["time_of_max_ns"][i]
                total, ranges = state(log, f"{at}ns")[heap["heap"]]
                what = f"{name} {heap['heap']}, {buckets} buckets, at {at} ns"
                differences.compare(total, spans["max_bytes"][i], what)
                span, = (h for h in report("timeline", "--from", f"{at}ns", "--to", f"{at}ns", log)["heaps"] if h["heap"] == heap["heap"])
                differences.compare(max(span["spans"]["max_bytes"], default=0), total, f"{what}, timeline of that time alone")
                for band in heap["bands"]:
                    if not band["everything_else"] and not has_estimates:
                        differences.compare(ranges.get(tuple(band["path"]), 0), band["bytes_at_max"][i], f"{what}, {band['path']}")


def check_peaks(log, name, differences):
    """Checks each heap's peak at the time in the text and at the time in JSON, and each device's peak."""
    log_peaks = report("peaks", "--by", "range", log)["logs"][0]
    for heap in log_peaks["heaps"]:
        expected = (heap["peak_bytes"], {tuple(r["path"]): r["bytes_at_peak"] for r in heap["ranges"] if r["bytes_at_peak"]})
        for at in (clock(heap["peak_time_ns"], 10 ** 6), clock(heap["peak_time_ns"], 1), f"{heap['peak_time_ns']}ns"):
            differences.compare(state(log, at)[heap["heap"]], expected, f"{name} {heap['heap']} peak at {at}")
    for device in log_peaks.get("devices", []):
        at = clock(device["time_ns"], 10 ** 6)
        devices = report("peaks", "--by", "range", "--at", at, log)["logs"][0]["devices"]
        same = next(d for d in devices if d["index"] == device["index"])
        for key in ("used_bytes", "parts", "torch_live"):
            differences.compare(same[key], device[key], f"{name} gpu{device['index']} {key} at {at}")


def check_segments(log, name, differences):
    for device in report("segments", "--at", "peak", log)["devices"]:
        for at in (clock(device["time_ns"], 10 ** 6), f"{device['time_ns']}ns"):
            same_device = next(d for d in report("segments", "--at", at, log)["devices"] if d["device"] == device["device"])
            for key in ("bytes", "live_bytes", "split_free_bytes", "releasable_bytes", "graph_free_bytes", "segments"):
                differences.compare(same_device[key], device[key], f"{name} gpu{device['device']} {key} at {at}")


def check_ooms(log, name, differences):
    for oom in report("oom", "--by", "range", log)["logs"][0]["ooms"]:
        at = clock(oom["time_ns"], WIDTH_OF_OOM)
        devices = report("peaks", "--by", "range", "--at", at, log)["logs"][0]["devices"]
        same = next(d for d in devices if d["index"] == oom["device"]["index"])
        for key in ("used_bytes", "parts", "torch_live"):
            differences.compare(same[key], oom["device"][key], f"{name} {key} when memory ran out at {at}")


def make(folder, program, scenario, *arguments):
    path = os.path.join(folder, f"{scenario}.zst")
    subprocess.run([os.environ[program], scenario, path, *arguments], check=True)
    return path


def main():
    differences, dice = Differences(), random.Random(13)
    with tempfile.TemporaryDirectory() as folder:
        logs = [make(folder, *made) for made in MADE] + [os.path.join(HERE, f) for f in sorted(os.listdir(HERE)) if f.endswith(".zst")]
        for log in logs:
            name = os.path.basename(log)
            check_timeline(log, name, differences, dice)
            check_accounts(log, name, differences, dice)
            check_peaks(log, name, differences)
            check_segments(log, name, differences)
            check_ooms(log, name, differences)
    print(f"{differences.compared} compared, {len(differences.found)} differ")
    if differences.found:
        sys.exit("\n".join(differences.found[:20]))


main()
