"""what-if replays the logs of tests/golden: with the run's own settings every block gets its recorded address, and the
segments and the peak of reserved bytes are the recorded ones.

test_what_if.py NAME, with MEMPROF_REPORT and GOLDEN set."""
import sys

from exports import check, golden, report

# One stream, and private pools of graphs only.
REPLAYED = {"h100-capture": 935, "h200-graphs-oom": 58, "h200-pytorch": 148,
            "h100-fragments": 2747, "h100-generate": 897, "h100-gpt2": 919, "h100-lora": 1137, "h100-resnet": 1745, "h100-spike": 2033,
            "h200-autograd": 124, "h200-findings": 19, "h200-graphs-eager": 427, "h200-nccl-rank0": 4, "h200-nccl-rank1": 4}
# Several streams, or a pool of the program, which a log does not name.
REFUSED = ["h100-fsdp-rank0", "h100-sleep"]


def what_if(name, settings):
    return report("what-if", golden(name), "--alloc-conf", settings)["devices"][0]


def logs_of_one_stream_are_replayed_to_the_byte():
    for name, allocations in REPLAYED.items():
        device = what_if(name, "expandable_segments:False")
        check(device["replayed"] and device["allocations"] == allocations, name, device)
        recorded = device["recorded_reserved_bytes"]
        # other addresses may change the peak even with the same settings
        check(device["reserved_low_bytes"] <= device["reserved_bytes"] == recorded <= device["reserved_high_bytes"], name, device)
        check(device["fits"] == "yes", name, device["fits"])


def recorded_peaks_are_those_of_the_heaps():
    for name in REPLAYED:
        device = what_if(name, "expandable_segments:False")
        heap = f"gpu{device['device']}/torch"
        peak = next(h["peak_bytes"] for h in report("peaks", golden(name), "--all")["logs"][0]["heaps"] if h["heap"] == heap)
        check(device["recorded_allocated_bytes"] == peak, name, device["recorded_allocated_bytes"], peak)


def other_logs_are_refused_with_a_reason():
    for name in REFUSED:
        device = what_if(name, "expandable_segments:True")
        check(not device["replayed"] and device["reason"], name, device)
        check(device["reserved_bytes"] is None and device["fits"] is None, name, device)


def wrong_recorded_settings_are_refused():
    device = report("what-if", golden("h100-gpt2"), "--alloc-conf", "expandable_segments:False", "--recorded-conf", "max_split_size_mb:20")["devices"][0]
    check(not device["replayed"], device)


def request_that_ran_out_of_memory_is_tried_again():
    device = what_if("h100-fragments", "expandable_segments:True")
    # 9 + 9 + 2 MiB fill each granule of 20 MiB, so none can be unmapped
    check(device["reserved_bytes"] == device["recorded_reserved_bytes"], device)
    oom, = device["ooms"]
    check(oom["fits"] == "no" and oom["short_low_bytes"] > 2 << 30, oom)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
