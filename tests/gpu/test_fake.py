"""The stand-ins for the CUDA libraries behave as the real ones in programs that use the driver, and with a tool that uses CUPTI.

The argument is a test's name. CTest's environment has the paths: FAKE_CUDA_DIR, GPU_PROGRAMS and GPU_TRACER."""
import collections
import os
import re
import subprocess
import sys
import tempfile

TIMEOUT = 60        # seconds; only a hang takes longer
OUT_OF_MEMORY = 2   # CUresult
MIB = 1 << 20

Mark = collections.namedtuple("Mark", "name used dev managed pinned pool regions")
Trace = collections.namedtuple("Trace", "calls marks resources lines")


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def parse(path):
    """The tracer's lines. `calls` maps a name to the results of its calls."""
    lines = open(path, encoding="utf-8").read().splitlines()
    check(not [line for line in lines if line.startswith("bad ")], lines)
    open_calls, calls, marks, resources = {}, collections.defaultdict(list), [], collections.Counter()
    for kind, *words in map(str.split, lines):
        if kind == "enter":
            check(words[1] not in open_calls, f"two calls are number {words[1]}")
            open_calls[words[1]] = (words[0], words[2])
        elif kind == "exit":
            check(open_calls.pop(words[1], None) == (words[0], words[2]), f"{words[2]} ends without a start")
            calls[words[2]].append(int(words[3]))
        elif kind == "resource":
            resources[int(words[0])] += 1
        elif kind == "mark":
            numbers = [int(re.fullmatch(r"\w+=(\d+)", word)[1]) for word in words[2:]]
            marks.append(Mark(words[1].removeprefix("step:"), int(words[0]), *numbers))
    check(not open_calls, f"calls without an end: {open_calls}")
    return Trace(calls, marks, resources, lines)


def run(program, status=0, **env):
    """Returns the trace of a program under the tracer."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace")
        tracer = os.environ["GPU_TRACER"]
        done = subprocess.run([os.path.join(os.environ["GPU_PROGRAMS"], program)], timeout=TIMEOUT, capture_output=True,
                              env={**os.environ, "LD_LIBRARY_PATH": os.environ["FAKE_CUDA_DIR"], "TRACE_OUT": path,
                                   "CUDA_INJECTION64_PATH": tracer, "NVTX_INJECTION64_PATH": tracer, **env})
        check(done.returncode == status, f"{program} ended with {done.returncode}: {done.stderr.decode()}")
        check(done.stdout + done.stderr == b"", f"{program} printed {done.stdout + done.stderr}")
        return parse(path)


def grown(trace, name):
    """Returns the growth of used bytes from the previous mark to this mark."""
    at = [mark.name for mark in trace.marks].index(name)
    return trace.marks[at].used - trace.marks[at - 1].used


def balanced(program):
    """Runs a program whose counters are equal at start and end, and checks that the device never has fewer used bytes
    than counted."""
    trace = run(program)
    first, last = trace.marks[0], trace.marks[-1]
    check((first.name, last.name) == ("start", "end"), trace.marks)
    check(not any(last[2:]), last)
    for mark in trace.marks:
        check(mark.used - first.used >= mark.dev - first.dev, f"the device holds less than {mark}")
    return trace


WALKED = """
cuMemAlloc_v2 cuMemFree_v2 cuMemAllocPitch_v2 cuMemAllocManaged
cuMemAllocHost_v2 cuMemHostAlloc cuMemFreeHost cuMemHostRegister_v2 cuMemHostUnregister
cuArrayCreate_v2 cuArray3DCreate_v2 cuArrayDestroy cuMipmappedArrayCreate cuMipmappedArrayDestroy
cuMemAllocAsync cuMemFreeAsync cuMemPoolCreate cuMemAllocFromPoolAsync cuMemPoolTrimTo cuMemPoolDestroy
cuMemAddressReserve cuMemCreate cuMemMap cuMemSetAccess cuMemUnmap cuMemRelease cuMemAddressFree
"""


def test_every_allocation_call_is_seen():
    trace = balanced("allocations")
    for name in WALKED.split():
        check(0 in trace.calls[name], f"{name} was not seen")
    check(1 in trace.calls["cuMemAlloc_v2"] and 1 in trace.calls["cuMemFree_v2"], "refused calls were not seen")
    check(grown(trace, "alloc-small") == 2 * MIB and grown(trace, "alloc-large") == 6 * MIB, "granules are 2 MiB")
    check(grown(trace, "host-alloc") == 0, "pinned memory is the host's")
    check(grown(trace, "async") == 32 * MIB and grown(trace, "pool-trim") == -64 * MIB, "pools grow by steps")
    check(grown(trace, "pool-shrinks-at-synchronize") == -64 * MIB, "a pool keeps its threshold, here 0")


def test_per_thread_streams_use_ptsz_calls():
    walk, graphs = balanced("allocations_ptsz"), balanced("graphs_ptsz")
    for name in ("cuMemAllocAsync", "cuMemFreeAsync", "cuMemAllocFromPoolAsync"):
        check(walk.calls[name + "_ptsz"] and not walk.calls[name], f"{name} is not per thread")
    for name in ("cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithParams", "cuGraphLaunch",
                 "cuGraphUpload", "cuLaunchKernel"):
        check(graphs.calls[name + "_ptsz"] and not graphs.calls[name], f"{name} is not per thread")


def test_old_call_variants_are_seen():
    trace = balanced("old_variants")
    for name in ("cuCtxCreate", "cuCtxCreate_v2", "cuCtxCreate_v3", "cuCtxDestroy", "cuMemAllocHost",
                 "cuMemHostRegister", "cuStreamBeginCapture", "cuGraphInstantiate", "cuGraphInstantiate_v2",
                 "cuGraphExecUpdate", "cuStreamDestroy", "cuCtxSynchronize", "cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxRelease"):
        check(0 in trace.calls[name], f"{name} was not seen")
    used = [mark.used for mark in trace.marks]
    check(used[-1] == used[0], "a released primary context takes its blocks along")


def test_virtual_memory_rules_are_enforced():
    trace = balanced("vmm")
    check(trace.calls["cuMemCreate"].count(800) == 1, "fabric handles are not permitted")
    check(1 in trace.calls["cuMemUnmap"], "half a mapping cannot be unmapped")


def test_graphs_take_memory_at_the_first_launch():
    trace = balanced("graphs")
    check(grown(trace, "burst-0-captured") == 0, "captured allocations are nodes")
    check(grown(trace, "burst-0-instantiated") == 4 * 2 * MIB, "an executable takes memory")
    check(grown(trace, "burst-0-launched") == 32 * MIB, "memory nodes get theirs at the first launch")
    check(grown(trace, "burst-0-launched-again") == 0, "and keep it")
    check(grown(trace, "burst-0-trimmed") == -32 * MIB, "until it is trimmed")
    check(trace.resources[17] == trace.resources[18] == trace.resources[19] == len(trace.calls["cuGraphExecDestroy"]),
          f"callbacks of executables: {trace.resources}")
    check(900 in trace.calls["cuMemAlloc_v2"], "a capture forbids cuMemAlloc")
    check(901 in trace.calls["cuStreamEndCapture"], "and is broken by it")


def test_full_device_refuses_allocations():
    trace = run("oom", status=3)
    check(trace.calls["cuMemAlloc_v2"].count(OUT_OF_MEMORY) == 2, trace.calls["cuMemAlloc_v2"])
    check(trace.marks[-1].used <= 16 << 30, "more is used than there is")


def test_memory_of_other_processes_is_not_available():
    free = run("oom", status=3).calls["cuMemAlloc_v2"].count(0)
    less = run("oom", status=3, FAKE_CUDA_OTHERS=str(8 << 30)).calls["cuMemAlloc_v2"].count(0)
    check(less == free - 8, f"{free} blocks in 16 GiB, {less} in 8")


def test_calls_of_all_threads_are_seen():
    trace = balanced("threads")
    check(len(trace.calls["cuMemAlloc_v2"]) == 8 * 200 * 3, "calls are missing")
    check(len({line.split()[1] for line in trace.lines if line.startswith("enter")}) > 8, "threads are missing")


def test_threads_without_callbacks_keep_exact_totals():
    """Without callbacks, because their lines would order the threads."""
    for mark in run("threads", FAKE_CUPTI_BUSY="1").marks:
        check(mark.dev in (0, 16 * MIB), f"16 slots are taken or none: {mark}")


def test_destroyed_contexts_free_their_blocks():
    trace = balanced("contexts")
    check(trace.resources[1] == trace.resources[2] + 1, "all contexts but the last ended")
    used = {mark.name: mark.used for mark in trace.marks}
    check(used["primary-again"] == used["start"], "contexts take their blocks along")
    check(used["other-device-released"] == used["primary-again"], "the other device's memory is its own")


def test_cuda_visible_devices_hides_a_device():
    trace = run("contexts", CUDA_VISIBLE_DEVICES="1")
    check("other-device" not in [mark.name for mark in trace.marks], "one device is visible")


def test_forked_child_cannot_use_cuda():
    trace = balanced("fork")
    check(trace.calls["cuMemAlloc_v2"].count(3) == 2, "CUDA is not initialized in the children")


def test_modules_streams_and_stack_limits_take_memory():
    trace = balanced("hidden_memory")
    check(grown(trace, "module") == 2 * MIB and grown(trace, "streams") == 2 * MIB, "modules and streams take memory")
    check(grown(trace, "limit") == 0, "a limit takes none")
    check(grown(trace, "launched-with-limit") == (8192 - 1024) * 132 * 2048, "a launch does")


def test_nvml_and_driver_report_the_same_usage():
    balanced("usage")
    second = run("usage", CUDA_VISIBLE_DEVICES="1")
    check(second.calls["cuDeviceGetUuid_v2"] == [0, 0], "one device is visible, and NVML finds it")


def test_multicast_objects_free_their_memory():
    trace = run("multicast")
    check(trace.marks[-1].dev == 0 and trace.marks[-1].used == trace.marks[0].used, trace.marks)


def test_refused_callbacks_are_not_delivered():
    trace = run("allocations", FAKE_CUPTI_REFUSE="cuMemAlloc_v2,279")
    check("refused cuMemAlloc_v2" in trace.lines, "CUPTI did not refuse")
    check(not trace.calls["cuMemAlloc_v2"] and trace.calls["cuMemFree_v2"], "a refused callback came")


def test_busy_cupti_refuses_a_second_tool():
    trace = run("allocations", FAKE_CUPTI_BUSY="1")
    check("subscribe 39" in trace.lines and not trace.calls, "another tool has CUPTI")


if __name__ == "__main__":
    globals()["test_" + sys.argv[1]]()
