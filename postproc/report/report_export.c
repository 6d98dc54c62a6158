/* The tables of an exported database. */
#include "contents.h"
#include "export.h"
#include "mpf/sample.h"
#include "ooms.h"
#include "readings.h"
#include "timeline.h"

/* ---- processes and heaps */

#define OF_SUMMARY(member) MPR_FIELD(mpr_summary, member)
#define OF_PROCESS(member) MPR_FIELD(mpr_summary, process.member)

MPR_VALUE(start, mpr_summary, s, mpr_value_known(MPR_TIME, s->process.start_ns, 0))
MPR_VALUE(command, mpr_summary, s,
          mpr_value_known_text(s->process.argc ? s->process.argv[0] : "", MPR_UNKNOWN))

static const struct mpr_column processes[] = {
    { .key = "file", .type = MPR_TEXT, OF_SUMMARY(path) },
    { .key = "host", .type = MPR_TEXT, OF_PROCESS(host), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "process", .type = MPR_COUNT, OF_PROCESS(pid), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "parent_process", .type = MPR_COUNT, OF_PROCESS(ppid), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "rank", .type = MPR_TEXT, OF_PROCESS(rank), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "program", .type = MPR_TEXT, .get = command },
    { .key = "start_realtime_ns", .type = MPR_TIME, .get = start },
    { .key = "duration_ns", .type = MPR_TIME, OF_SUMMARY(duration_ns) },
    { .key = "complete", .type = MPR_FLAG, OF_SUMMARY(complete) },
    { .key = "incomplete", .type = MPR_FLAG, OF_SUMMARY(incomplete) },
    { .key = "events", .type = MPR_COUNT, OF_SUMMARY(events) },
    { .key = "lost_events", .type = MPR_COUNT, OF_SUMMARY(lost_events) },
};

#define OF_HEAP(member) MPR_FIELD(mpr_content_heap, member)

static const struct mpr_column heaps[] = {
    { .key = "heap", .type = MPR_TEXT, OF_HEAP(heap) },
    { .key = "inside", .type = MPR_TEXT, OF_HEAP(inside), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "estimated", .type = MPR_FLAG, OF_HEAP(estimated) },
    { .key = "peak_bytes", .type = MPR_BYTES, OF_HEAP(peak_bytes) },
    { .key = "peak_ns", .type = MPR_TIME, OF_HEAP(peak_ns) },
    { .key = "peak_blocks", .type = MPR_COUNT, OF_HEAP(peak_blocks) },
    { .key = "end_bytes", .type = MPR_BYTES, OF_HEAP(end_bytes) },
    { .key = "end_blocks", .type = MPR_COUNT, OF_HEAP(end_blocks) },
    { .key = "allocations", .type = MPR_COUNT, OF_HEAP(allocations) },
    { .key = "frees", .type = MPR_COUNT, OF_HEAP(frees) },
    { .key = "failures", .type = MPR_COUNT, OF_HEAP(failures) },
    { .key = "unmatched_frees", .type = MPR_COUNT, OF_HEAP(unmatched) },
};

/* ---- owners: ranges, threads, call stacks */

#define OF_THREAD(member) MPR_FIELD(mpr_info_thread, member)

static const struct mpr_column threads[] = {
    { .key = "thread_id", .type = MPR_COUNT, OF_THREAD(number) },
    { .key = "name", .type = MPR_TEXT, OF_THREAD(name) },
    { .key = "tid", .type = MPR_COUNT, OF_THREAD(tid), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "first_ns", .type = MPR_TIME, OF_THREAD(first_ns) },
    { .key = "ended_ns", .type = MPR_TIME, OF_THREAD(ended_ns), .unless = MPR_UNKNOWN_AT_MAX },
};

MPR_VALUE(depth, mpr_content_range, r, mpr_value_number(MPR_COUNT, r->path.depth))

// clang-format off
#define OF_RANGE(member) MPR_FIELD(mpr_content_range, member)

static const struct mpr_column ranges[] = {
    { .key = "range_id", .type = MPR_COUNT, OF_RANGE(number) },
    { .key = "parent_id", .type = MPR_COUNT, OF_RANGE(parent) },
    { .key = "name", .type = MPR_TEXT, OF_RANGE(name) },
    { .key = "path", MPR_PATH_FIELD(mpr_content_range, path) },
    { .key = "depth", .type = MPR_COUNT, .get = depth },
};

#define OF_INSTANCE(member) MPR_FIELD(mpr_content_instance, member)

static const struct mpr_column instances[] = {
    { .key = "range_id", .type = MPR_COUNT, OF_INSTANCE(range) },
    { .key = "thread_id", .type = MPR_COUNT, OF_INSTANCE(thread) },
    { .key = "begin_ns", .type = MPR_TIME, OF_INSTANCE(begin_ns) },
    { .key = "end_ns", .type = MPR_TIME, OF_INSTANCE(end_ns) },
    { .key = "ended", .type = MPR_FLAG, OF_INSTANCE(ended) },
};

#define OF_SITE(member) MPR_FIELD(mpr_content_site, member)

static const struct mpr_column sites[] = {
    { .key = "site_id", .type = MPR_COUNT, OF_SITE(number) },
    { .key = "name", .type = MPR_TEXT, OF_SITE(name) },
    { .key = "caller", .type = MPR_TEXT, OF_SITE(caller), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "native_stack_id", .type = MPR_COUNT, OF_SITE(native), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "python_stack_id", .type = MPR_COUNT, OF_SITE(python), .unless = MPR_UNKNOWN_AT_0 },
};

static const struct mpr_column calls[] = {
    { .key = "stack_id", .type = MPR_COUNT, MPR_FIELD(mpr_content_call, stack) },
    { .key = "level", .type = MPR_COUNT, MPR_FIELD(mpr_content_call, level) },
    { .key = "frame_id", .type = MPR_COUNT, MPR_FIELD(mpr_content_call, frame) },
};

static const struct mpr_column frames[] = {
    { .key = "frame_id", .type = MPR_COUNT, MPR_FIELD(mpr_content_frame, number) },
    { .key = "frame", .type = MPR_TEXT, MPR_FIELD(mpr_content_frame, text) },
};

/* ---- blocks and their sums */

#define OF_BLOCK(member) MPR_FIELD(mpr_content_block, member)

static const struct mpr_column blocks[] = {
    { .key = "heap", .type = MPR_TEXT, OF_BLOCK(heap) },
    { .key = "address", .type = MPR_ADDRESS, OF_BLOCK(address) },
    { .key = "bytes", .type = MPR_BYTES, OF_BLOCK(bytes) },
    { .key = "made_ns", .type = MPR_TIME, OF_BLOCK(made_ns) },
    { .key = "freed_ns", .type = MPR_TIME, OF_BLOCK(freed_ns), .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "range_id", .type = MPR_COUNT, OF_BLOCK(range) },
    { .key = "thread_id", .type = MPR_COUNT, OF_BLOCK(thread) },
    { .key = "site_id", .type = MPR_COUNT, OF_BLOCK(site), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "freed_range_id", .type = MPR_COUNT, OF_BLOCK(freed_range),
      .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "freed_thread_id", .type = MPR_COUNT, OF_BLOCK(freed_thread),
      .unless = MPR_UNKNOWN_AT_MAX },
};

#define OF_USE(member) MPR_FIELD(mpr_content_use, member)

static const struct mpr_column uses[] = {
    { .key = "heap", .type = MPR_TEXT, OF_USE(heap) },
    { .key = "range_id", .type = MPR_COUNT, OF_USE(range) },
    { .key = "thread_id", .type = MPR_COUNT, OF_USE(thread) },
    { .key = "site_id", .type = MPR_COUNT, OF_USE(site), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "size_up_to", .type = MPR_BYTES, OF_USE(size_up_to) },
    { .key = "peak_bytes", .type = MPR_BYTES, OF_USE(peak_bytes) },
    { .key = "peak_blocks", .type = MPR_COUNT, OF_USE(peak_blocks) },
    { .key = "end_bytes", .type = MPR_BYTES, OF_USE(end_bytes) },
    { .key = "end_blocks", .type = MPR_COUNT, OF_USE(end_blocks) },
    { .key = "own_peak_bytes", .type = MPR_BYTES, OF_USE(own_peak) },
    { .key = "allocations", .type = MPR_COUNT, OF_USE(allocations) },
    { .key = "error_bytes", .type = MPR_BYTES, OF_USE(error), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "mark", .type = MPR_TEXT, OF_USE(mark), .unless = MPR_UNKNOWN_AT_0 },
};

/* ---- over time */

#define OF_SPAN(member) MPR_FIELD(mpr_span, member)

static const struct mpr_column series[] = {
    { .key = "heap", .type = MPR_TEXT, MPR_CONTEXT(mpr_heap_timeline, heap) },
    { .key = "start_ns", .type = MPR_TIME, OF_SPAN(start) },
    { .key = "time_of_max_ns", .type = MPR_TIME, OF_SPAN(time) },
    { .key = "max_bytes", .type = MPR_BYTES, OF_SPAN(max) },
    { .key = "min_bytes", .type = MPR_BYTES, OF_SPAN(min) },
    { .key = "end_bytes", .type = MPR_BYTES, OF_SPAN(close) },
    { .key = "allocations", .type = MPR_COUNT, OF_SPAN(allocs) },
    { .key = "frees", .type = MPR_COUNT, OF_SPAN(frees) },
};

#define OF_GPU(member) MPR_FIELD(mpr_content_gpu, member)
#define GPU_BYTES(at)  .type = MPR_BYTES, OF_GPU(value[at]), .unless = MPR_UNKNOWN_AT_MAX

static const struct mpr_column samples_gpu[] = {
    { .key = "device", .type = MPR_COUNT, OF_GPU(device) },
    { .key = "time_ns", .type = MPR_TIME, OF_GPU(time_ns) },
    { .key = "used_bytes", GPU_BYTES(MPF_GPU_USED) },
    { .key = "total_bytes", GPU_BYTES(MPF_GPU_TOTAL) },
    { .key = "own_bytes", GPU_BYTES(MPF_GPU_OWN) },
    { .key = "reserved_bytes", GPU_BYTES(MPF_GPU_RESERVED) },
    { .key = "file_cache_bytes", GPU_BYTES(MPF_GPU_FILE_CACHE) },
};

/* ---- devices */

static const struct mpr_column devices[] = {
    { .key = "device", .type = MPR_COUNT, MPR_FIELD(mpr_device, index) },
    { .key = "name", .type = MPR_TEXT, MPR_FIELD(mpr_device, name) },
    { .key = "uuid", .type = MPR_TEXT, MPR_FIELD(mpr_device, uuid) },
    { .key = "peak_ns", .type = MPR_TIME, MPR_FIELD(mpr_device, peak.time) },
    { .key = "used_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_device, peak.used),
      .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "total_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_device, peak.total),
      .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "torch_segment_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_device, peak.torch_segments) },
    { .key = "torch_asleep_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_device, peak.torch_asleep) },
};

#define OF_DEVICE(member) MPR_CONTEXT(mpr_device, member)

static const struct mpr_column device_parts[] = {
    { .key = "device", .type = MPR_COUNT, OF_DEVICE(index) },
    { .key = "part", .type = MPR_TEXT, MPR_FIELD(mpr_device_part, key) },
    { .key = "bytes", .type = MPR_SIGNED, MPR_FIELD(mpr_device_part, bytes) },
};

#define OF_COMM(member) MPR_FIELD(mpr_comm_row, member)

static const struct mpr_column communicators[] = {
    { .key = "device", .type = MPR_COUNT, OF_DEVICE(index) },
    { .key = "name", .type = MPR_TEXT, OF_COMM(name), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "ranks", .type = MPR_COUNT, OF_COMM(ranks), .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "rank", .type = MPR_COUNT, OF_COMM(rank), .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "first_use", .type = MPR_TEXT, OF_COMM(first_use), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "bytes", .type = MPR_BYTES, OF_COMM(bytes) },
    { .key = "blocks", .type = MPR_COUNT, OF_COMM(blocks) },
};

// clang-format on

MPR_VALUE(got_over, mpr_oom_event, r, mpr_value_flag(!r->hard))

#define OF_STORY(member) MPR_FIELD(mpr_oom_event, member)

static const struct mpr_column ooms[] = {
    { .key = "time_ns", .type = MPR_TIME, OF_STORY(time) },
    { .key = "device", .type = MPR_COUNT, OF_STORY(index) },
    { .key = "heap", .type = MPR_TEXT, OF_STORY(heap) },
    { .key = "thread", .type = MPR_TEXT, OF_STORY(thread) },
    { .key = "path", MPR_PATH_FIELD(mpr_oom_event, path) },
    { .key = "asked_bytes", .type = MPR_BYTES, OF_STORY(bytes) },
    { .key = "needed_bytes", .type = MPR_BYTES, OF_STORY(needed) },
    { .key = "free_bytes", .type = MPR_BYTES, OF_STORY(free), .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "total_bytes", .type = MPR_BYTES, OF_STORY(total), .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "got_over", .type = MPR_FLAG, .get = got_over },
};

const struct mpr_export_table mpr_export_table[MPR_EXPORT_COUNT] = {
#define X(NAME, table, wanted, list) [MPR_EXPORT_##NAME] = { #table, wanted, MPR_COLUMNS(list) },
    MPR_EXPORT_TABLES(X)
#undef X
};
