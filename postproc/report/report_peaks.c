/* Who held the bytes at the peak: each process's devices and heaps, then the processes as a tree.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "peaks.h"
#include "readings.h"
#include "report_device.h"
#include "report_hint.h"
#include "report_rows.h"
#include "report_threads.h"
#include "reports.h"
#include "thread_use.h"
#include "units.h"

/* How finely the times of an instant are told. */
static uint64_t width_of(struct mpr_instant at)
{
    return mpr_instant_is_peak(at) ? 1000000 : at.to - at.from + 1;
}

/* ---- heaps */

#define OF_HEAP(member) MPR_FIELD(mpr_heap_peak, member)

struct mpr_value mpr_report_heap_peak(const void *row, const void *context)
{
    const struct mpr_heap_peak *h = row;
    (void)context;
    struct mpr_value v = mpr_value_number(MPR_BYTES, h->peak_bytes);
    v.about = h->is_about;
    return v;
}

/* For people, one below the other. */
enum { HEAP_BYTES = 1 };
static const struct mpr_column heap_columns[] = {
    { .title = "heap", .type = MPR_WORD, OF_HEAP(heap), .width = 14 },
    { .title = "peak", .type = MPR_BYTES, .get = mpr_report_heap_peak, .estimate = true },
    { .title = "at", .type = MPR_TIME, OF_HEAP(peak_time) },
    { .title = "blocks",
      .type = MPR_COUNT,
      OF_HEAP(peak_blocks),
      .width = 12,
      .spare = 3,
      .estimate = true },
    { .title = "allocations",
      .type = MPR_COUNT,
      OF_HEAP(allocations),
      .width = 14,
      .spare = 2,
      .estimate = true },
    { .title = "frees",
      .type = MPR_COUNT,
      OF_HEAP(frees),
      .width = 14,
      .spare = 1,
      .estimate = true },
    { .title = "at end", .type = MPR_BYTES, OF_HEAP(end_bytes), .estimate = true },
};

static const struct mpr_column heap_fields[] = {
    { .key = "heap", .type = MPR_WORD, OF_HEAP(heap) },
    { .key = "peak_bytes", .type = MPR_BYTES, OF_HEAP(peak_bytes) },
    { .key = "peak_time_ns", .type = MPR_TIME, OF_HEAP(peak_time) },
    { .key = "end_bytes", .type = MPR_BYTES, OF_HEAP(end_bytes) },
    { .key = "blocks_at_peak", .type = MPR_COUNT, OF_HEAP(peak_blocks) },
    { .key = "end_blocks", .type = MPR_COUNT, OF_HEAP(end_blocks) },
    { .key = "allocations", .type = MPR_COUNT, OF_HEAP(allocations) },
    { .key = "frees", .type = MPR_COUNT, OF_HEAP(frees) },
    { .key = "failures", .type = MPR_COUNT, OF_HEAP(failures) },
};

static const struct mpr_column failure_fields[] = {
    { .key = "largest_failure_bytes", .type = MPR_BYTES, OF_HEAP(failure_bytes) },
    { .key = "largest_failure_time_ns", .type = MPR_TIME, OF_HEAP(failure_time) },
    { .key = "largest_failure_errno", .type = MPR_COUNT, OF_HEAP(failure_errno) },
};

static const struct mpr_column huge_failure_fields[] = {
    { .key = "huge_page_failures", .type = MPR_COUNT, OF_HEAP(huge_failures) },
    { .key = "largest_huge_page_failure_bytes", .type = MPR_BYTES, OF_HEAP(huge_failure_bytes) },
    { .key = "largest_huge_page_failure_time_ns", .type = MPR_TIME, OF_HEAP(huge_failure_time) },
    { .key = "largest_huge_page_failure_errno", .type = MPR_COUNT, OF_HEAP(huge_failure_errno) },
};

static const struct mpr_column instance_fields[] = {
    { .key = "range", .type = MPR_TEXT, OF_HEAP(instance.range) },
    { .key = "name", .type = MPR_TEXT, OF_HEAP(instance.name) },
    { .key = "number", .type = MPR_COUNT, OF_HEAP(instance.number) },
    { .key = "of", .type = MPR_COUNT, OF_HEAP(instance.of) },
    { .key = "open", .type = MPR_COUNT, OF_HEAP(instance.open) },
    { .key = "path", MPR_PATH_FIELD(mpr_heap_peak, instance.path) },
};

static const struct mpr_column touched_fields[] = {
    { .key = "touched_at_most_bytes", .type = MPR_BYTES, OF_HEAP(touched.bytes) },
    { .key = "touched_at_most_time_ns", .type = MPR_TIME, OF_HEAP(touched.time) },
};

static void never_more(struct mpr_document *doc, const struct mpr_heap_peak *h)
{
    mpr_doc_line(doc, "%s: of %s never more than %s was in memory, up to %s",
                 mpr_heap_name(h->heap), mpr_doc_size(doc, h->peak_bytes),
                 mpr_doc_size(doc, h->touched.bytes), mpr_doc_time(doc, h->touched.time));
}

static void not_sampled(struct mpr_document *doc, const struct mpr_heap_peak *h)
{
    mpr_doc_line(doc,
                 "%s: how much of %s was in memory at the peak is not known; %s at %s, when it was "
                 "sampled",
                 mpr_heap_name(h->heap), mpr_doc_size(doc, h->peak_bytes),
                 mpr_doc_size(doc, h->sampled.bytes), mpr_doc_time(doc, h->sampled.time));
}

void mpr_report_reserved(struct mpr_document *doc, const struct mpr_heap_peak *h)
{
    const struct mpr_touched *most = &h->touched;
    if (most->bytes < h->peak_bytes && most->ever) never_more(doc, h);
    else if (most->bytes < h->peak_bytes)
        mpr_doc_line(
            doc,
            "%s: of %s at most %s was in memory or swap in samples at its peak, the largest of %s",
            mpr_heap_name(h->heap), mpr_doc_size(doc, h->peak_bytes),
            mpr_doc_size(doc, most->bytes), mpr_doc_time(doc, most->time));
    if (most->ever && most->bytes >= h->peak_bytes / 2 && h->sampled.bytes < h->peak_bytes / 2)
        not_sampled(doc, h);
}

void mpr_report_nested(struct mpr_document *doc, const struct mpr_log_peaks *log)
{
    for (size_t i = 0; i < log->heaps; i++)
        if (log->heap[i].nested)
            mpr_doc_line(doc,
                         "%s: what libraries told NVTX of; inside memory that other heaps count",
                         mpr_heap_name(log->heap[i].heap));
}

/* The driver has numbers of its own: 2 is out of memory. */
static const char *failure_text(const struct mpr_heap_peak *h)
{
    if (!mpf_heap_is_gpu(h->heap) && h->heap != MPF_HEAP_PINNED)
        return strerror((int)h->failure_errno);
    return h->failure_errno == 2 ? "CUDA: out of memory"
                                 : "CUDA: an error that is not lack of memory";
}

static void failed(struct mpr_document *doc, const struct mpr_heap_peak *h)
{
    if (!h->failures) return;
    mpr_doc_add(doc, MPR_WARN, "%s: %s failed allocation%s, the largest %s at %s (%s)",
                mpr_heap_name(h->heap), mpr_doc_count(doc, h->failures),
                h->failures == 1 ? "" : "s", mpr_doc_size(doc, h->failure_bytes),
                mpr_doc_time(doc, h->failure_time), failure_text(h));
    mpr_doc_end(doc);
}

static void failed_huge_pages(struct mpr_document *doc, const struct mpr_heap_peak *h)
{
    if (!h->huge_failures) return;
    const char *reason = h->huge_failure_errno == ENOMEM
                             ? "the kernel's pool of huge pages was too small"
                             : strerror((int)h->huge_failure_errno);
    mpr_doc_line(doc, "%s: %s failed allocation%s of huge pages, the largest %s at %s (%s)",
                 mpr_heap_name(h->heap), mpr_doc_count(doc, h->huge_failures),
                 h->huge_failures == 1 ? "" : "s", mpr_doc_size(doc, h->huge_failure_bytes),
                 mpr_doc_time(doc, h->huge_failure_time), reason);
}

static bool estimated(const void *row) { return ((const struct mpr_heap_peak *)row)->estimated; }

/* Whose memory it is, and what its numbers are. */
static void small_objects(struct mpr_document *doc, const struct mpr_log_peaks *log,
                          const struct mpr_heap_peak *h)
{
    if (!h->estimated) return;
    mpr_doc_say(doc, "%s: ~ estimated from samples; in pymalloc's arenas, which host/mmap counts",
                mpr_heap_name(h->heap));
    if (h->inside) mpr_report_beyond(doc, log, h);
    mpr_doc_end(doc);
}

/* The state that an instant left behind need not be the largest one. */
static const struct mpr_column *columns_at(struct mpr_document *doc, struct mpr_instant at)
{
    if (!at.settled) return heap_columns;
    struct mpr_column *column = mpr_arena_alloc(&doc->arena, sizeof heap_columns);
    memcpy(column, heap_columns, sizeof heap_columns);
    column[HEAP_BYTES].title = "live";
    return column;
}

static void heap_table(struct mpr_document *doc, const struct mpr_log_peaks *log,
                       struct mpr_instant at, uint64_t tick)
{
    mpr_doc_table(doc, &(struct mpr_table){ .title = "heap",
                                            .only = MPR_FOR_PEOPLE,
                                            .column = columns_at(doc, at),
                                            .columns = sizeof heap_columns / sizeof *heap_columns,
                                            MPR_ROWS(log->heap, log->heaps),
                                            .all = MPR_FOR_PEOPLE,
                                            .tick = tick,
                                            .estimated = estimated,
                                            .flush = true });
    mpr_report_instances(doc, log, mpr_instant_is_peak(at));
    for (size_t i = 0; i < log->heaps; i++) small_objects(doc, log, &log->heap[i]);
    mpr_report_nested(doc, log);
    for (size_t i = 0; i < log->heaps; i++) mpr_report_reserved(doc, &log->heap[i]);
    for (size_t i = 0; i < log->heaps; i++) {
        failed(doc, &log->heap[i]);
        failed_huge_pages(doc, &log->heap[i]);
    }
    if (log->heaps) return;
    mpr_doc_gap(doc);
    mpr_doc_line(doc, "no allocations were recorded");
}

/* ---- the kernel's view */

static void part(struct mpr_document *doc, const char *label, uint64_t value)
{
    if (value != MPF_UNKNOWN && value) mpr_doc_say(doc, "  %s %s", label, mpr_doc_size(doc, value));
}

static void rss_lines(struct mpr_document *doc, const struct mpr_reading *r)
{
    mpr_doc_say(doc, "  RSS     %12s at %s ", mpr_doc_size(doc, mpr_reading_resident(r)),
                mpr_doc_time(doc, r->time));
    part(doc, "anonymous", r->value[MPF_RSS_ANON]);
    part(doc, "file", r->value[MPF_RSS_FILE]);
    part(doc, "shared", r->value[MPF_RSS_SHMEM]);
    part(doc, "swap", r->value[MPF_RSS_SWAP]);
    mpr_doc_end(doc);
    mpr_doc_say(doc, "%20s", "");
    part(doc, "Private_Dirty", r->value[MPF_RSS_PRIVATE_DIRTY]);
    part(doc, "Pss", r->value[MPF_RSS_PSS]);
    mpr_report_rollup_time(doc, r);
    part(doc, "memprof itself up to", r->value[MPF_RSS_MEMPROF]);
    part(doc, "high water so far", r->value[MPF_RSS_HWM]);
    mpr_doc_end(doc);
}

static void cgroup_line(struct mpr_document *doc, const struct mpr_reading *r)
{
    const uint64_t kills = r->value[MPF_CGROUP_OOM_KILLS];
    mpr_doc_say(doc, "  cgroup  %12s at %s ", mpr_doc_size(doc, r->value[MPF_CGROUP_USAGE]),
                mpr_doc_time(doc, r->time));
    part(doc, "limit", r->value[MPF_CGROUP_LIMIT]);
    part(doc, "peak", r->value[MPF_CGROUP_PEAK]);
    if (kills != MPF_UNKNOWN && kills) mpr_doc_say(doc, "  OOM kills %" PRIu64, kills);
    mpr_doc_end(doc);
}

static void jemalloc_line(struct mpr_document *doc, const struct mpr_reading *r)
{
    mpr_doc_say(doc, "  jemalloc%12s allocated ",
                mpr_doc_size(doc, r->value[MPF_JEMALLOC_ALLOCATED]));
    part(doc, "active", r->value[MPF_JEMALLOC_ACTIVE]);
    part(doc, "resident", r->value[MPF_JEMALLOC_RESIDENT]);
    part(doc, "retained", r->value[MPF_JEMALLOC_RETAINED]);
    mpr_doc_end(doc);
}

/* Samples that are too far from the peak to be of it: each has its own time. */
static void charged_around(struct mpr_document *doc, const struct mpr_heap_peak *h)
{
    const struct mpr_reading *before = &h->before[MPR_READ_RSS], *after = &h->after[MPR_READ_RSS];
    if (!before->valid && !after->valid) return;
    mpr_doc_gap(doc);
    mpr_doc_add(doc, MPR_FAINT, "no sample of RSS within 100 ms of the peak; the nearest ones:");
    mpr_doc_end(doc);
    if (before->valid) rss_lines(doc, before);
    if (after->valid) rss_lines(doc, after);
}

static void kernel_view(struct mpr_document *doc, const struct mpr_heap_peak *h, bool at_peak)
{
    const struct mpr_reading *rss = &h->then[MPR_READ_RSS], *cgroup = &h->then[MPR_READ_CGROUP];
    const struct mpr_reading *jemalloc = &h->then[MPR_READ_JEMALLOC];
    if (!rss->valid) charged_around(doc, h);
    if (!rss->valid && !cgroup->valid && !jemalloc->valid) return;
    mpr_doc_gap(doc);
    mpr_doc_add(doc, MPR_FAINT,
                at_peak ? "what the kernel charged at the peak of %s"
                        : "what the kernel charged then",
                mpr_heap_name(h->heap));
    mpr_doc_end(doc);
    if (rss->valid) rss_lines(doc, rss);
    if (cgroup->valid) cgroup_line(doc, cgroup);
    if (jemalloc->valid) jemalloc_line(doc, jemalloc);
}

/* ---- rows */

/* One standard error of the bytes at the peak, where they are an estimate. */
static struct mpr_value error(const void *row, const void *context)
{
    const struct mpr_row *r = row;
    (void)context;
    return r->variance > 0 ? mpr_value_number(MPR_BYTES, mpr_row_error(r->variance))
                           : mpr_value_absent;
}

/* What the records of CSV have besides the row. */
struct around {
    struct mpr_site_context site;
    const struct mpr_row *first; /* of the heap; by thread each row has one of `thread` */
    const struct mpr_thread_row *thread;
    const char *log;
    uint8_t heap, inside;
    uint64_t pid, peak_bytes, peak_time;
    bool incomplete;
};

#define OF_ROW(member) MPR_FIELD(mpr_row, member)

static const struct mpr_thread_row *thread_of(const void *row, const void *context)
{
    const struct around *a = context;
    return &a->thread[(const struct mpr_row *)row - a->first];
}

static struct mpr_value thread_number(const void *row, const void *context)
{
    return mpr_value_number(MPR_COUNT, thread_of(row, context)->life.number);
}

static struct mpr_value end_blocks(const void *row, const void *context)
{
    return mpr_value_number(MPR_COUNT, thread_of(row, context)->end_blocks);
}

static struct mpr_value all_bytes(const void *row, const void *context)
{
    return mpr_value_known(MPR_BYTES, thread_of(row, context)->all_bytes, MPF_UNKNOWN);
}

static struct mpr_value first_ns(const void *row, const void *context)
{
    return mpr_value_number(MPR_TIME, thread_of(row, context)->life.first_ns);
}

static struct mpr_value ended_ns(const void *row, const void *context)
{
    return mpr_value_known(MPR_TIME, thread_of(row, context)->life.ended_ns, UINT64_MAX);
}

// clang-format off
#define ROW_COLUMNS                                                                                 \
    { .key = "log", .type = MPR_TEXT, MPR_CONTEXT(around, log), .only = MPR_IN_CSV },               \
    { .key = "pid", .type = MPR_COUNT, MPR_CONTEXT(around, pid), .only = MPR_IN_CSV },              \
    { .key = "heap", .type = MPR_WORD, MPR_CONTEXT(around, heap), .only = MPR_IN_CSV },             \
    { .key = "peak_bytes", .type = MPR_BYTES, MPR_CONTEXT(around, peak_bytes),                      \
      .only = MPR_IN_CSV },                                                                         \
    { .key = "peak_time_ns", .type = MPR_TIME, MPR_CONTEXT(around, peak_time),                      \
      .only = MPR_IN_CSV },                                                                         \
    { .key = "path", MPR_PATH_FIELD(mpr_row, path) },                                               \
    MPR_SITE_COLUMNS,                                                                               \
    { .key = "bytes_at_peak", .type = MPR_BYTES, OF_ROW(bytes), .sums = true },                     \
    { .key = "blocks_at_peak", .type = MPR_COUNT, OF_ROW(blocks) },                                 \
    { .key = "own_peak_bytes", .type = MPR_BYTES, OF_ROW(own_peak) },                               \
    { .key = "allocations", .type = MPR_COUNT, OF_ROW(allocations) },                               \
    { .key = "end_bytes", .type = MPR_BYTES, OF_ROW(end_bytes) },                                   \
    { .key = "inherited_bytes_at_peak", .type = MPR_BYTES, OF_ROW(inherited) },                     \
    { .key = "estimated", .type = MPR_FLAG, OF_ROW(estimated), .unless = MPR_ABSENT_AT_0,           \
      .only = MPR_IN_JSON },                                                                        \
    { .key = "error_bytes", .type = MPR_BYTES, .get = error, .only = MPR_IN_JSON },                 \
    { .key = "incomplete", .type = MPR_FLAG, MPR_CONTEXT(around, incomplete), .only = MPR_IN_CSV }, \
    { .key = "inside", .type = MPR_WORD, MPR_CONTEXT(around, inside), .only = MPR_IN_CSV },         \
    { .key = "estimated", .type = MPR_FLAG, OF_ROW(estimated), .only = MPR_IN_CSV },                \
    { .key = "error_bytes", .type = MPR_BYTES, .get = error, .only = MPR_IN_CSV }

static const struct mpr_column row_columns[] = { ROW_COLUMNS };
static const struct mpr_column thread_row_columns[] = {
    ROW_COLUMNS,
    { .key = "number", .type = MPR_COUNT, .get = thread_number },
    { .key = "end_blocks", .type = MPR_COUNT, .get = end_blocks },
    { .key = "all_bytes", .type = MPR_BYTES, .get = all_bytes },
    { .key = "first_ns", .type = MPR_TIME, .get = first_ns },
    { .key = "ended_ns", .type = MPR_TIME, .get = ended_ns },
};
// clang-format on

/* @thread: of each row, or NULL */
static void row_table(struct mpr_document *doc, const struct mpr_log_peaks *log,
                      const struct mpr_heap_peak *h, bool at_peak, const char *process,
                      const struct mpr_thread_row *thread)
{
    const char *const bytes = at_peak ? "at the peak" : "at that time";
    const bool bounds = mpr_report_is_thinned(&log->summary, h->heap);
    struct around *around = mpr_arena_alloc(&doc->arena, sizeof *around);
    struct mpr_table table = { .key = "ranges",
                               .only = MPR_IN_JSON | MPR_IN_CSV,
                               MPR_COLUMNS(row_columns),
                               MPR_ROWS(h->row, h->rows),
                               .context = around,
                               .folded = { process, "heap", "bytes_at_peak" } };
    *around = (struct around){ .site = { doc, log->choice.by },
                               .first = h->row,
                               .thread = thread,
                               .log = log->summary.path,
                               .heap = h->heap,
                               .inside = h->inside,
                               .pid = log->summary.process.pid,
                               .peak_bytes = h->peak_bytes,
                               .peak_time = h->peak_time,
                               .incomplete = log->summary.incomplete };
    if (thread) {
        table.column = thread_row_columns;
        table.columns = sizeof thread_row_columns / sizeof *thread_row_columns;
    }
    mpr_doc_table(doc, &table);
    if (thread) mpr_report_thread_lines(doc, h, thread, bytes, bounds);
    else
        mpr_report_rows(doc, &(struct mpr_rows){ .row = h->row,
                                                 .rows = h->rows,
                                                 .by = log->choice.by,
                                                 .of = mpr_heap_name(h->heap),
                                                 .bytes = bytes,
                                                 .whole = h->peak_bytes,
                                                 .bounds = bounds,
                                                 .ever = true });
    if (h->rows && h->samples)
        mpr_doc_line(doc, "  ~ estimated from %s sample%s", mpr_doc_count(doc, h->samples),
                     h->samples == 1 ? "" : "s");
    mpr_report_modules(doc, h->row, h->rows, h->peak_bytes);
}

static void heap(struct mpr_document *doc, const struct mpr_log_peaks *log,
                 const struct mpr_heap_peak *h, bool at_peak, const char *process,
                 const struct mpr_thread_row *thread)
{
    mpr_doc_open(doc, NULL);
    mpr_doc_facts(doc, heap_fields, h);
    if (h->failures) mpr_doc_facts(doc, failure_fields, h);
    if (h->huge_failures) mpr_doc_facts(doc, huge_failure_fields, h);
    if (h->touched.bytes != MPF_UNKNOWN) mpr_doc_facts(doc, touched_fields, h);
    if (*h->instance.name) {
        mpr_doc_open(doc, "instance");
        mpr_doc_facts(doc, instance_fields, h);
        mpr_doc_close(doc);
    }
    if (h->instance.beyond) mpr_doc_fact(doc, "more_ranges_open", mpr_value_flag(true));
    mpr_report_readings(doc, "before_peak", h->before);
    mpr_report_readings(doc, "after_peak", h->after);
    if (h->inside) mpr_doc_fact(doc, "inside", mpr_value_heap(h->inside));
    if (h->is_about) mpr_doc_fact(doc, "peak_is_about", mpr_value_flag(true));
    if (h->samples)
        mpr_doc_fact(doc, "estimated_from_samples", mpr_value_number(MPR_COUNT, h->samples));
    row_table(doc, log, h, at_peak, process, thread);
    if (h == log->heap) kernel_view(doc, h, at_peak);
    mpr_doc_close(doc);
}

/* ---- logs */

#define OF_DEVICE(member) MPR_FIELD(mpr_device, member)

// clang-format off
static const struct mpr_column device_fields[] = {
    { .key = "index", .type = MPR_COUNT, OF_DEVICE(index) },
    { .key = "name", .type = MPR_TEXT, OF_DEVICE(name) },
    { .key = "uuid", .type = MPR_TEXT, OF_DEVICE(uuid) },
    { .key = "driver_allocations_missing", .type = MPR_TEXT, OF_DEVICE(off),
      .unless = MPR_ABSENT_AT_0 },
    { .key = "driver_calls_by_name", .type = MPR_TEXT, OF_DEVICE(by_name), .unless = MPR_ABSENT_AT_0 },
    { .key = "shared_with_host", .type = MPR_FLAG, OF_DEVICE(shared), .unless = MPR_ABSENT_AT_0 },
    { .key = "torch_reserved_peak_bytes", .type = MPR_BYTES, OF_DEVICE(torch_reserved_peak) },
};
// clang-format on

static void devices(struct mpr_document *doc, const struct mpr_log_peaks *log, bool at_peak)
{
    if (!log->devices) return;
    mpr_doc_list(doc, "devices");
    for (size_t i = 0; i < log->devices; i++) {
        const struct mpr_device *d = &log->device[i];
        const bool told = d->peak.parts || *d->off;
        mpr_doc_open(doc, NULL);
        mpr_doc_facts(doc, device_fields, d);
        if (d->peak.valid)
            mpr_report_device(doc, d, &d->peak,
                              !told     ? NULL
                              : at_peak ? "peak"
                                        : "then",
                              log->choice.by);
        mpr_doc_close(doc);
    }
    mpr_doc_close(doc);
}

/* What stands for the peaks. */
static void chosen(struct mpr_document *doc, struct mpr_instant at)
{
    const uint64_t width = width_of(at);
    struct mpr_number length;
    const char *time = mpr_doc_instant(doc, at.from, width);
    mpr_units_length(&length, width);
    if (width == 1) mpr_doc_line(doc, "the state at %s stands for the peak", time);
    else
        mpr_doc_line(doc, "each heap's largest state within %s from %s on stands for its peak",
                     length.text, time);
}

static void choice(struct mpr_document *doc, const struct mpr_choice *c)
{
    if (!*c->source) return;
    mpr_doc_fact(doc, "by", mpr_value_text(mpr_group_name[c->by]));
    mpr_doc_fact(doc, "ranges_from", mpr_value_text(c->source));
    mpr_report_choice(doc, c);
}

/* Do rows have what call stacks name? */
static bool by_calls(enum mpr_group by)
{
    return by == MPR_GROUP_AUTO || by == MPR_GROUP_STACK || by == MPR_GROUP_PYTHON;
}

/* As flame graphs of several have it. */
static const char *named_process(struct mpr_document *doc, const struct mpr_summary *s)
{
    return mpr_arena_format(&doc->arena, "%s (%" PRIu64 ")",
                            s->process.argc ? s->process.argv[0] : s->path, s->process.pid);
}

/* @use: the threads of the log, or NULL */
static void one_log(struct mpr_document *doc, const struct mpr_peaks *peaks,
                    const struct mpr_log_peaks *log, const struct mpr_thread_use *use)
{
    const struct mpr_instant asked = peaks->options.at, at = mpr_report_shown(&log->summary, asked);
    const bool at_peak = mpr_instant_is_peak(at);
    const char *process = peaks->logs > 1 ? named_process(doc, &log->summary) : NULL;
    mpr_doc_open(doc, NULL);
    mpr_report_log(doc, &log->summary);
    choice(doc, &log->choice);
    mpr_doc_fact(doc, "parent",
                 log->parent < 0 ? mpr_value_unknown
                                 : mpr_value_number(MPR_COUNT, (uint64_t)log->parent));
    if (log->executed >= 0)
        mpr_doc_fact(doc, "executed", mpr_value_number(MPR_COUNT, (uint64_t)log->executed));
    mpr_report_readings(doc, "largest", log->largest);
    mpr_report_too_late(doc, &log->summary, asked);
    if (at.from != asked.from) mpr_doc_fact(doc, "at_ns", mpr_value_number(MPR_TIME, at.from));
    else if (!at_peak) chosen(doc, at);
    devices(doc, log, at_peak);
    heap_table(doc, log, at, width_of(asked));
    mpr_doc_list(doc, "heaps");
    for (size_t i = 0; i < log->heaps; i++)
        heap(doc, log, &log->heap[i], at_peak, process, use ? use->of[i] : NULL);
    mpr_doc_close(doc);
    if (use) mpr_report_thread_lives(doc, use);
    mpr_report_notes(doc, log->note, log->notes);
    if (by_calls(peaks->options.by)) mpr_report_hint(doc, log);
    mpr_doc_close(doc);
}

/* ---- processes */

struct process {
    const char *pid, *program;
    uint64_t peak, rss;
};

// clang-format off
static const struct mpr_column process_columns[] = {
    { .title = "process", .type = MPR_TEXT, MPR_FIELD(process, pid), .width = MPR_WIDE },
    { .title = "tracked peak", .type = MPR_BYTES, MPR_FIELD(process, peak), .width = 14,
      .sums = true },
    { .title = "RSS peak", .type = MPR_BYTES, MPR_FIELD(process, rss), .width = 14,
      .unless = MPR_UNKNOWN_AT_MAX, .sums = true },
    { .title = "program", .type = MPR_TEXT, MPR_FIELD(process, program) },
};
// clang-format on

/* A process is one row, whatever programs it executed.  Children and siblings, in the order of the
 * logs: indices; -1: none. */
struct tree {
    long root, *child, *sibling;
};

/* Returns the last log of the parent process, or -1. */
static long parent_of(const struct mpr_peaks *peaks, long at)
{
    const long parent = peaks->log[at].parent;
    return parent < 0 ? -1 : (long)peaks->log[parent].process;
}

static struct tree tree_of(struct mpr_document *doc, const struct mpr_peaks *peaks)
{
    struct tree t = { -1, mpr_arena_alloc(&doc->arena, peaks->logs * sizeof *t.child),
                      mpr_arena_alloc(&doc->arena, peaks->logs * sizeof *t.sibling) };
    for (size_t i = 0; i < peaks->logs; i++) t.child[i] = -1;
    for (long i = (long)peaks->logs; i-- > 0;) {
        if (peaks->log[i].process != (size_t)i) continue;
        const long parent = parent_of(peaks, i);
        long *first = parent < 0 ? &t.root : &t.child[parent];
        t.sibling[i] = *first;
        *first = i;
    }
    return t;
}

/* The next one, children before siblings. */
static long next_of(const struct tree *t, const struct mpr_peaks *peaks, long at, int *depth)
{
    if (t->child[at] >= 0) {
        ++*depth;
        return t->child[at];
    }
    while (at >= 0 && t->sibling[at] < 0) {
        at = parent_of(peaks, at);
        --*depth;
    }
    return at < 0 ? at : t->sibling[at];
}

static struct process process_of(struct mpr_document *doc, const struct mpr_log_peaks *log,
                                 int depth)
{
    enum { DEEPEST = 20 };
    const struct mpr_summary *s = &log->summary;
    struct process p = { .rss = log->process_rss,
                         .peak = log->process_peak,
                         .program = s->process.argc ? s->process.argv[0] : s->path };
    p.pid = mpr_arena_format(&doc->arena, "%*s%" PRIu64, (depth < DEEPEST ? depth : DEEPEST) * 2,
                             "", s->process.pid);
    return p;
}

static void processes(struct mpr_document *doc, const struct mpr_peaks *peaks)
{
    struct process *row = mpr_arena_alloc(&doc->arena, peaks->logs * sizeof *row), *end = row;
    const struct tree tree = tree_of(doc, peaks);
    int depth = 0;
    for (long at = tree.root; at >= 0; at = next_of(&tree, peaks, at, &depth))
        *end++ = process_of(doc, &peaks->log[at], depth);
    mpr_doc_table(doc, &(struct mpr_table){ .title = "processes",
                                            .only = MPR_FOR_PEOPLE,
                                            MPR_COLUMNS(process_columns),
                                            MPR_ROWS(row, (size_t)(end - row)),
                                            .all = MPR_FOR_PEOPLE,
                                            .total = "sum (their peaks may be at other times)" });
}

/* ---- all */

/* Where AUTO stands for the same in all logs, that. */
static enum mpr_group by_of(const struct mpr_peaks *peaks)
{
    for (size_t i = 0; i < peaks->logs; i++)
        if (peaks->log[i].choice.by != peaks->log[0].choice.by) return peaks->options.by;
    return peaks->logs ? peaks->log[0].choice.by : peaks->options.by;
}

/* The instant that is shown, of the longest log if the instant is after the end of all of them. */
static struct mpr_instant shown(const struct mpr_peaks *peaks)
{
    struct mpr_instant last = peaks->options.at;
    for (size_t i = 0; i < peaks->logs; i++) {
        const struct mpr_instant at = mpr_report_shown(&peaks->log[i].summary, peaks->options.at);
        if (i == 0 || at.from > last.from) last = at;
    }
    return last;
}

static void options(struct mpr_document *doc, const struct mpr_peaks *peaks)
{
    const struct mpr_instant at = shown(peaks);
    mpr_doc_fact(doc, "by", mpr_value_text(mpr_group_name[by_of(peaks)]));
    mpr_doc_fact(doc, "at_ns", mpr_value_known(MPR_TIME, at.from, MPR_PEAK_TIME));
    if (!mpr_instant_is_peak(at))
        mpr_doc_fact(doc, "at_width_ns",
                     mpr_value_number(MPR_TIME, at.settled ? 0 : at.to - at.from + 1));
}

/* ---- a process that executed other programs: its log with the largest peak, which comes first, is
 * shown */

static bool is_other_program(const struct mpr_peaks *peaks, size_t log)
{
    for (size_t i = 0; i < log; i++)
        if (peaks->log[i].process == peaks->log[log].process) return true;
    return false;
}

static void other_programs(struct mpr_document *doc, const struct mpr_peaks *peaks, size_t log)
{
    const struct mpr_log_peaks *largest = NULL;
    size_t others = 0;
    for (size_t i = log + 1; i < peaks->logs; i++) {
        if (peaks->log[i].process != peaks->log[log].process) continue;
        if (!others++) largest = &peaks->log[i];
    }
    if (!others) return;
    mpr_doc_gap(doc);
    mpr_doc_line(doc, "%zu other program%s of this process held at most %s; the largest is in %s",
                 others, others == 1 ? "" : "s", mpr_doc_size(doc, largest->peak_bytes),
                 largest->summary.path);
}

static void report(struct mpr_document *doc, const struct mpr_peaks *peaks,
                   const struct mpr_thread_use *use)
{
    mpr_report_schema(doc, "memprof.peaks/1");
    options(doc, peaks);
    mpr_doc_list(doc, "logs");
    for (size_t i = 0; i < peaks->logs; i++) {
        struct mpr_item *before = doc->last;
        if (i) mpr_doc_gap(doc);
        one_log(doc, peaks, &peaks->log[i], use);
        if (is_other_program(peaks, i)) mpr_doc_hide_after(doc, before);
        else other_programs(doc, peaks, i);
    }
    mpr_doc_close(doc);
    mpr_doc_fact(doc, "sum_of_peaks_bytes", mpr_value_number(MPR_BYTES, peaks->sum_of_peaks));
    mpr_doc_fact(doc, "sum_of_rss_high_water_bytes",
                 mpr_value_number(MPR_BYTES, peaks->sum_of_rss));
    if (peaks->logs > 1) processes(doc, peaks);
    if (use) mpr_doc_csv(doc, thread_row_columns);
    else mpr_doc_csv(doc, row_columns);
}

void mpr_report_peaks(struct mpr_document *doc, const struct mpr_peaks *peaks)
{
    report(doc, peaks, NULL);
}

void mpr_report_peaks_by_thread(struct mpr_document *doc, const struct mpr_thread_use *use)
{
    report(doc, &use->peaks, use);
}
