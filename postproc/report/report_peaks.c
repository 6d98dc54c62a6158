/* The owners of the bytes at the peak: the devices and heaps of each process, then a tree of
 * processes. */
#include <inttypes.h>
#include <string.h>

#include "peaks.h"
#include "readings.h"
#include "report_device.h"
#include "report_rows.h"
#include "reports.h"
#include "units.h"

/* Returns the resolution of the times, ns. */
static uint64_t time_resolution(struct mpr_instant at)
{
    return mpr_instant_is_peak(at) ? 1000000 : at.to - at.from + 1;
}

/* ---- heaps */

#define OF_ROW(member)    MPR_FIELD(mpr_row, member)
#define OF_THREAD(member) MPR_FIELD(mpr_thread_row, member)

// clang-format off
#define HEAP_COLUMNS                                                                               \
    MPR_LOG_COLUMN,                                                                                \
    { .key = "pid", .type = MPR_COUNT, MPR_OF_LOG(process.pid) },                                  \
    { .key = "heap", .type = MPR_WORD, MPR_CONTEXT(mpr_heap_peak, heap), .only = MPR_IN_CSV },     \
    { .key = "peak_bytes", .type = MPR_BYTES, MPR_CONTEXT(mpr_heap_peak, peak_bytes),              \
      .only = MPR_IN_CSV },                                                                        \
    { .key = "peak_time_ns", .type = MPR_TIME, MPR_CONTEXT(mpr_heap_peak, peak_time),              \
      .only = MPR_IN_CSV }
#define MORE_COLUMNS                                                                               \
    { .key = "inherited_bytes_at_peak", .type = MPR_BYTES, OF_ROW(inherited) },                    \
    { .key = "incomplete", .type = MPR_FLAG, MPR_OF_LOG(incomplete) },                             \
    { .key = "inside", .type = MPR_WORD, MPR_CONTEXT(mpr_heap_peak, inside), .only = MPR_IN_CSV }, \
    { .key = "estimated", .type = MPR_FLAG, OF_ROW(estimated), .unless = MPR_OMITTED_AT_0 },       \
    { .key = "error_bytes", .type = MPR_BYTES, OF_ROW(variance) }

static const struct mpr_column row_columns[] = {
    HEAP_COLUMNS,
    { .key = "path", .title = "path", MPR_PATH_FIELD(mpr_row, path) },
    MPR_SITE_COLUMNS,
    { .key = "bytes_at_peak", .title = "at the peak", .titled = true, .type = MPR_BYTES,
      OF_ROW(bytes), .share = MPR_SHARE_FIRST, .errors = true, .sums = true, .estimate = true },
    { .key = "blocks_at_peak", .title = "blocks", .type = MPR_COUNT, OF_ROW(blocks),
      .estimate = true },
    { .key = "own_peak_bytes", .title = "own peak", .type = MPR_BYTES, OF_ROW(own_peak),
      .merge = MPR_MERGE_PEAK, .estimate = true, .bound = true, .spare = 2,
      .sorted_by = MPR_ORDER_OWN },
    { .key = "allocations", .title = "allocs", .type = MPR_COUNT, OF_ROW(allocations),
      .estimate = true, .bound = true, .width = 11, .spare = 1, .of_rest = true,
      .sorted_by = MPR_ORDER_ALLOCS },
    { .key = "end_bytes", .title = "at end", .type = MPR_BYTES, OF_ROW(end_bytes),
      .after = "blocks_at_peak", .sums = true, .sums_in = MPR_FOR_PEOPLE, .estimate = true,
      .sorted_by = MPR_ORDER_END, .if_sorted = true },
    MORE_COLUMNS,
    { .key = "all_bytes", .title = "in all", .type = MPR_BYTES, OF_ROW(all_bytes),
      .unless = MPR_UNKNOWN_AT_MAX, .bound = true, .spare = 2 }, /* only by size */
};

static const struct mpr_column thread_columns[] = {
    HEAP_COLUMNS,
    { .key = "path", .title = "thread", MPR_PATH_FIELD(mpr_row, path), .width = 26 },
    MPR_SITE_COLUMNS,
    { .key = "bytes_at_peak", .title = "at the peak", .titled = true, .type = MPR_BYTES,
      OF_ROW(bytes), .share = 2, .sums = true, .estimate = true },
    { .key = "blocks_at_peak", .title = "blocks", .type = MPR_COUNT, OF_ROW(blocks), .spare = 2,
      .estimate = true },
    { .key = "own_peak_bytes", .title = "own peak", .type = MPR_BYTES, OF_ROW(own_peak),
      .merge = MPR_MERGE_PEAK, .spare = 2, .estimate = true, .bound = true },
    { .key = "allocations", .title = "allocs", .type = MPR_COUNT, OF_ROW(allocations), .width = 11,
      .spare = 3, .estimate = true, .bound = true, .of_rest = true },
    { .key = "end_bytes", .title = "at end", .type = MPR_BYTES, OF_ROW(end_bytes),
      .after = "blocks_at_peak", .sums = true, .sums_in = MPR_FOR_PEOPLE, .estimate = true },
    MORE_COLUMNS,
    { .key = "number", .type = MPR_COUNT, OF_THREAD(life.number), .merge = MPR_MERGE_FIRST },
    { .key = "end_blocks", .type = MPR_COUNT, OF_THREAD(end_blocks) },
    { .key = "all_bytes", .title = "in all", .type = MPR_BYTES, OF_ROW(all_bytes),
      .unless = MPR_UNKNOWN_AT_MAX, .bound = true },
    { .key = "first_ns", .title = "from", .type = MPR_TIME, OF_THREAD(life.first_ns),
      .merge = MPR_MERGE_MIN, .spare = 1 },
    { .key = "ended_ns", .title = "to", .type = MPR_TIME, OF_THREAD(life.ended_ns),
      .merge = MPR_MERGE_MAX, .unless = MPR_UNKNOWN_AT_MAX, .spare = 1 },
};
// clang-format on

/* Returns the columns of a table by this grouping, or of CSV. */
static const struct mpr_column *columns_of(enum mpr_group by, bool lifetimes, size_t *columns)
{
    *columns = lifetimes ? sizeof thread_columns / sizeof *thread_columns
                         : sizeof row_columns / sizeof *row_columns - (by != MPR_GROUP_SIZE);
    return lifetimes ? thread_columns : row_columns;
}

/* Threads and sizes have a line even if they held nothing at the peak, because of their
 * lifetimes and allocations. */
static void rows(struct mpr_document *doc, const struct mpr_log_peaks *log,
                 const struct mpr_heap_peak *h, bool at_peak, const char *process)
{
    const enum mpr_group by = log->choice.by;
    struct mpr_table table = { .key = "ranges",
                               .title = mpr_report_heading(doc, mpr_heap_name(h->heap), by),
                               .only = MPR_EVERYWHERE,
                               MPR_ROWS(h->row, h->rows),
                               .context = h,
                               .whole = h->peak_bytes,
                               .by = by,
                               .bounds = mpr_report_is_thinned(&log->summary, h->heap),
                               .lines = { .merged = true,
                                          .bytes_title = at_peak ? NULL : "at that time",
                                          .empty = h->thread || by == MPR_GROUP_SIZE,
                                          .siblings = true },
                               .folded = { process, "heap", "bytes_at_peak" } };
    table.column = columns_of(by, h->thread, &table.columns);
    if (h->thread) {
        table.row = h->thread;
        table.stride = sizeof *h->thread;
    }
    mpr_doc_table(doc, &table);
    if (h->rows && h->samples)
        mpr_doc_line(doc, "  ~ estimated from %s",
                     mpr_doc_counted(doc, h->samples, "sample", "samples"));
    mpr_report_modules(doc, h->row, h->rows, h->peak_bytes);
}

static void heap(struct mpr_document *doc, const struct mpr_log_peaks *log,
                 const struct mpr_heap_peak *h, bool at_peak, const char *process)
{
    mpr_doc_open(doc, NULL);
    mpr_report_heap_fields(doc, h);
    mpr_report_readings(doc, "before_peak", h->before);
    mpr_report_readings(doc, "after_peak", h->after);
    if (h->inside) mpr_doc_fact(doc, "inside", mpr_value_heap(h->inside));
    if (h->is_approximate) mpr_doc_fact(doc, "peak_is_about", mpr_value_flag(true));
    if (h->samples)
        mpr_doc_fact(doc, "estimated_from_samples", mpr_value_number(MPR_COUNT, h->samples));
    rows(doc, log, h, at_peak, process);
    if (h == log->heap) mpr_report_kernel_view(doc, h, at_peak);
    mpr_doc_close(doc);
}

/* ---- threads of the log */

#define OF_LIFE(member) MPR_FIELD(mpr_info_thread, member)

// clang-format off
static const struct mpr_column life_columns[] = {
    { .key = "name", .type = MPR_TEXT, OF_LIFE(name) },
    { .key = "number", .type = MPR_COUNT, OF_LIFE(number) },
    { .key = "tid", .type = MPR_COUNT, OF_LIFE(tid), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "first_ns", .type = MPR_TIME, OF_LIFE(first_ns) },
    { .key = "ended_ns", .type = MPR_TIME, OF_LIFE(ended_ns), .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "allocated", .type = MPR_FLAG, OF_LIFE(allocated) },
};
// clang-format on

/* Number 0 is not a thread: its blocks have no recorded thread. */
static bool is_idle(const struct mpr_info_thread *t) { return t->tid && !t->allocated; }

static void threads(struct mpr_document *doc, const struct mpr_log_peaks *log)
{
    enum { MAX_NAMES = 4 };
    size_t idle = 0;
    mpr_doc_objects(doc, "threads", life_columns, log->thread, log->threads);
    for (size_t i = 0; i < log->threads; i++) idle += is_idle(&log->thread[i]);
    if (!idle) return;
    mpr_doc_gap(doc);
    mpr_doc_add_plain(doc,
                      "%s allocated nothing:", mpr_doc_counted(doc, idle, "thread", "threads"));
    for (size_t i = 0, named = 0; i < log->threads && named < MAX_NAMES; i++)
        if (is_idle(&log->thread[i]))
            mpr_doc_add_plain(doc, "%s %s", named++ ? "," : "", log->thread[i].name);
    if (idle > MAX_NAMES) mpr_doc_add_plain(doc, ", ...");
    mpr_doc_end(doc);
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
    { .key = "driver_calls_by_name", .type = MPR_TEXT, OF_DEVICE(by_name),
      .unless = MPR_ABSENT_AT_0 },
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
        const char *at = at_peak ? "peak" : "then";
        mpr_doc_open(doc, NULL);
        mpr_doc_facts(doc, device_fields, d);
        if (d->peak.valid)
            mpr_report_device(doc, d, &d->peak, d->peak.parts || *d->off ? at : NULL,
                              log->choice.by);
        mpr_doc_close(doc);
    }
    mpr_doc_close(doc);
}

/* Says which instant is shown instead of the peak. */
static void chosen_instant(struct mpr_document *doc, struct mpr_instant at)
{
    const uint64_t width = time_resolution(at);
    struct mpr_number length;
    const char *time = mpr_doc_instant(doc, at.from, width);
    if (width > 1000000) mpr_units_span(&length, width);
    else mpr_units_length(&length, width);
    if (width == 1) mpr_doc_line(doc, "showing the state at %s instead of the peak", time);
    else
        mpr_doc_line(doc,
                     "showing each heap's largest state in the %s after %s, instead of its peak",
                     length.text, time);
}

static void one_log(struct mpr_document *doc, const struct mpr_peaks *peaks,
                    const struct mpr_log_peaks *log)
{
    const struct mpr_instant asked = peaks->options.at,
                             at = mpr_report_shown_instant(&log->summary, asked);
    const bool at_peak = mpr_instant_is_peak(at);
    const struct mpr_process_info *p = &log->summary.process;
    const char *process = NULL; /* its name in flame graphs of several processes */
    if (peaks->logs > 1)
        process = mpr_arena_format(&doc->arena, "%s (%" PRIu64 ")",
                                   p->argc ? p->argv[0] : log->summary.path, p->pid);
    mpr_doc_open(doc, NULL);
    mpr_report_log(doc, &log->summary);
    if (*log->choice.source) {
        mpr_doc_fact(doc, "by", mpr_value_text(mpr_group_name[log->choice.by]));
        mpr_doc_fact(doc, "ranges_from", mpr_value_text(log->choice.source));
        mpr_report_choice(doc, &log->choice);
    }
    mpr_doc_fact(doc, "parent",
                 log->parent < 0 ? mpr_value_unknown
                                 : mpr_value_number(MPR_COUNT, (uint64_t)log->parent));
    if (log->executed >= 0)
        mpr_doc_fact(doc, "executed", mpr_value_number(MPR_COUNT, (uint64_t)log->executed));
    mpr_report_readings(doc, "largest", log->largest);
    mpr_report_too_late(doc, &log->summary, asked);
    if (at.from != asked.from) mpr_doc_fact(doc, "at_ns", mpr_value_number(MPR_TIME, at.from));
    else if (!at_peak) chosen_instant(doc, at);
    devices(doc, log, at_peak);
    mpr_report_heap_table(doc, log, at, time_resolution(asked));
    mpr_report_reading_peak(doc, "rss_peak", &log->rss_peak);
    mpr_report_reading_peak(doc, "cgroup_peak", &log->cgroup_peak);
    if (mpr_report_rss_peak(doc, log)) mpr_doc_end_wrapped(doc, 2);
    mpr_doc_list(doc, "heaps");
    for (size_t i = 0; i < log->heaps; i++) heap(doc, log, &log->heap[i], at_peak, process);
    mpr_doc_close(doc);
    mpr_report_resident(doc, log, at_peak);
    if (log->thread) threads(doc, log);
    mpr_report_notes(doc, log->note, log->notes);
    const enum mpr_group by = peaks->options.by;
    if (by == MPR_GROUP_AUTO || mpr_group_is_calls(by)) mpr_report_hint(doc, log, true);
    mpr_doc_close(doc);
}

/* ---- processes */

struct process {
    const char *pid, *program; /* pid: indented */
    uint64_t number, depth, peak, rss;
};

// clang-format off
static const struct mpr_column process_columns[] = {
    { .key = "pid", .title = "process", .type = MPR_COUNT, MPR_FIELD(process, number),
      .unless = MPR_UNKNOWN_AT_0, MPR_SHOWN_FIELD(MPR_TEXT, process, pid), .width = MPR_WIDE },
    { .key = "depth", .type = MPR_COUNT, MPR_FIELD(process, depth) },
    { .key = "tracked_peak_bytes", .title = "tracked peak", .type = MPR_BYTES,
      MPR_FIELD(process, peak), .width = 14, .sums = true },
    { .key = "rss_high_water_bytes", .title = "RSS peak", .type = MPR_BYTES,
      MPR_FIELD(process, rss), .width = 14, .unless = MPR_UNKNOWN_AT_MAX, .sums = true },
    { .key = "program", .title = "program", .type = MPR_TEXT, MPR_FIELD(process, program) },
};
// clang-format on

/* Adds the children of a process (-1: those without a parent), each followed by its own
 * children. A process is one row, whatever programs it executed. Returns the number of rows. */
static size_t add_children(struct mpr_document *doc, const struct mpr_peaks *peaks, long parent,
                           int depth, struct process *row)
{
    enum { DEEPEST = 20 };
    size_t rows = 0;
    for (size_t i = 0; i < peaks->logs; i++) {
        const struct mpr_log_peaks *log = &peaks->log[i];
        const struct mpr_process_info *process = &log->summary.process;
        const long of = log->parent < 0 ? -1 : (long)peaks->log[log->parent].process;
        if (log->process != i || of != parent) continue;
        row[rows++] = (struct process){
            .pid = mpr_arena_format(&doc->arena, "%*s%" PRIu64,
                                    (depth < DEEPEST ? depth : DEEPEST) * 2, "", process->pid),
            .program = process->argc ? mpr_report_program(doc, process) : log->summary.path,
            .number = process->pid,
            .depth = (uint64_t)depth,
            .peak = log->process_peak,
            .rss = log->process_rss,
        };
        rows += add_children(doc, peaks, (long)i, depth + 1, row + rows);
    }
    return rows;
}

static void processes(struct mpr_document *doc, const struct mpr_peaks *peaks)
{
    struct process *row = mpr_arena_alloc(&doc->arena, peaks->logs * sizeof *row);
    mpr_doc_rows(doc, process_columns, row, add_children(doc, peaks, -1, 0, row),
                 .key = "processes", .title = "processes", .all = MPR_FOR_PEOPLE | MPR_IN_JSON,
                 .total = "sum (the peaks may be at different times)");
}

/* ---- all */

/* Adds the grouping if all logs have the same, and the instant that is shown. If that is after
 * the end of all logs, it is the end of the longest. */
static void options(struct mpr_document *doc, const struct mpr_peaks *peaks)
{
    struct mpr_instant last = peaks->options.at;
    enum mpr_group by = peaks->logs ? peaks->log[0].choice.by : peaks->options.by;
    for (size_t i = 0; i < peaks->logs; i++) {
        const struct mpr_instant at =
            mpr_report_shown_instant(&peaks->log[i].summary, peaks->options.at);
        if (i == 0 || at.from > last.from) last = at;
        if (peaks->log[i].choice.by != peaks->log[0].choice.by) by = peaks->options.by;
    }
    mpr_doc_fact(doc, "by", mpr_value_text(mpr_group_name[by]));
    mpr_doc_fact(doc, "at_ns", mpr_value_known(MPR_TIME, last.from, MPR_PEAK_TIME));
    if (!mpr_instant_is_peak(last))
        mpr_doc_fact(doc, "at_width_ns",
                     mpr_value_number(MPR_TIME, last.settled ? 0 : last.to - last.from + 1));
}

/* ---- if a process executed other programs, only the log with the largest peak is shown, which
 * comes first */

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
    mpr_doc_line(doc, "%s of this process held at most %s; the largest is in %s",
                 mpr_doc_counted(doc, others, "other program", "other programs"),
                 mpr_doc_size(doc, largest->peak_bytes), largest->summary.path);
}

void mpr_report_peaks(struct mpr_document *doc, const struct mpr_peaks *peaks)
{
    mpr_report_schema(doc, "memprof.peaks/1");
    options(doc, peaks);
    mpr_doc_list(doc, "logs");
    for (size_t i = 0; i < peaks->logs; i++) {
        struct mpr_item *before = doc->last;
        if (i) mpr_doc_gap(doc);
        one_log(doc, peaks, &peaks->log[i]);
        if (is_other_program(peaks, i)) mpr_doc_hide_after(doc, before);
        else other_programs(doc, peaks, i);
    }
    mpr_doc_close(doc);
    mpr_doc_fact(doc, "sum_of_peaks_bytes", mpr_value_number(MPR_BYTES, peaks->sum_of_peaks));
    mpr_doc_fact(doc, "sum_of_rss_high_water_bytes",
                 mpr_value_number(MPR_BYTES, peaks->sum_of_rss));
    if (peaks->logs > 1) processes(doc, peaks);
    const bool lifetimes = peaks->logs && peaks->log[0].thread;
    doc->csv = columns_of(peaks->options.by, lifetimes, &doc->csv_columns);
}
