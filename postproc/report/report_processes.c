/* The processes of a run as a tree. */
#include <inttypes.h>
#include <string.h>

#include "family.h"
#include "mpf/sample.h"
#include "naming.h"
#include "reports.h"

enum { GENERATIONS = 8 }; /* that indentation shows */

/* ---- lines */

struct shown {
    struct mpr_family_line line;
    const struct mpr_frame *title;
    size_t lead; /* bytes of the title up to the end of the program's name */
};

#define OF(member) MPR_FIELD(shown, member)

MPR_VALUE(title, shown, s, mpr_value_title(&s->title, s->lead))
MPR_VALUE(rank, shown, s,
          mpr_value_text(s->line.processes > 1 ? "" : s->line.largest->summary.process.rank))
MPR_VALUE(pid, shown, s,
          mpr_value_text(mpr_arena_format(&doc->arena, "%" PRIu64,
                                          s->line.largest->summary.process.pid)))
MPR_VALUE(last_ended, shown, s,
          mpr_value_text(mpr_report_ending(&doc->arena, &s->line.last->summary)))

/* Bytes of the heap are unknown, not 0, if it was not recorded. */
static struct mpr_value of_heap(const struct mpr_summary *s, uint64_t bytes, bool is_approximate)
{
    const bool off = s->recording.blocks == MPR_RECORDED_OFF;
    return off ? mpr_value_unknown : mpr_value_about(bytes, is_approximate);
}

MPR_VALUE(host_heap, shown, s,
          of_heap(&s->line.largest->summary, s->line.host_bytes, s->line.host_is_approximate))
MPR_VALUE(largest, shown, s,
          mpr_value_about(s->line.largest->peak_bytes, s->line.largest->is_approximate))

// clang-format off
static const struct mpr_column shown_columns[] = {
    { .title = "process", .type = MPR_PATH, .get = title },
    { .title = "rank", .type = MPR_TEXT, .get = rank, .if_any = true, .width = 5 },
    { .title = "pid", .type = MPR_TEXT, .get = pid, .width = 7 },
    { .title = "lived", .type = MPR_SPAN, OF(line.lived_ns), .spare = 2 },
    { .title = "largest", .type = MPR_BYTES, .get = largest, .spare = 4 },
    { .title = "host/heap", .type = MPR_BYTES, .get = host_heap, .sums = true },
    { .title = "device", .type = MPR_BYTES, OF(line.gpu_bytes), .if_any = true, .sums = true },
    { .title = "RSS peak", .type = MPR_BYTES, OF(line.rss_bytes), .sums = true,
      .unless = MPR_UNKNOWN_AT_MAX, .spare = 5 },
    { .title = "heap at end", .type = MPR_BYTES, OF(line.end_bytes), .width = 13, .sums = true,
      .spare = 1 },
    { .title = "ended", .type = MPR_TEXT, .get = last_ended, .beside = true },
};
// clang-format on

/* "    8 x worker" */
static const char *indented(struct mpr_document *doc, const struct mpr_family_line *l)
{
    const int indent = 2 * (int)(l->depth < GENERATIONS ? l->depth : GENERATIONS);
    if (l->processes == 1) return mpr_arena_format(&doc->arena, "%*s%s", indent, "", l->title);
    return mpr_arena_format(&doc->arena, "%*s%s x %s", indent, "", mpr_doc_count(doc, l->processes),
                            l->title);
}

static void tree(struct mpr_document *doc, const struct mpr_processes *all)
{
    size_t lines;
    bool folds = false;
    const bool unfold = doc->naming && doc->naming->unfold;
    const struct mpr_family_line *line = mpr_family(&doc->arena, all, unfold, NULL, &lines);
    struct shown *shown = mpr_arena_alloc(&doc->arena, lines * sizeof *shown);
    for (size_t i = 0; i < lines; i++) {
        const char *title = indented(doc, &line[i]);
        shown[i].line = line[i];
        shown[i].title = mpr_frame_named(&doc->arena, MPR_FRAME_LABEL, title);
        shown[i].lead = strlen(title) - strlen(line[i].title) + strcspn(line[i].title, " ");
        folds |= line[i].processes > 1;
    }
    mpr_doc_rows(doc, shown_columns, shown, lines, .title = "processes", .only = MPR_FOR_PEOPLE,
                 .total = "all");
    if (lines > 1) mpr_doc_line(doc, "  all: the peaks may be at different times");
    if (folds) mpr_doc_line(doc, "  N x: sums; pid and largest are those of the largest process");
}

/* ---- above the tree */

static uint64_t end_of(const struct mpr_process *p)
{
    return p->summary.process.start_ns + p->summary.duration_ns;
}

static uint64_t lasted(const struct mpr_processes *all)
{
    uint64_t from = UINT64_MAX, to = 0;
    for (size_t i = 0; i < all->count; i++) {
        const struct mpr_process *p = &all->at[i];
        if (p->summary.process.start_ns < from) from = p->summary.process.start_ns;
        if (end_of(p) > to) to = end_of(p);
    }
    return to > from ? to - from : 0;
}

static const struct mpr_column rest_fields[] = {
    { .key = "processes", .type = MPR_COUNT, MPR_FIELD(mpr_without_log, processes) },
    { .key = "unseen", .type = MPR_COUNT, MPR_FIELD(mpr_without_log, unseen) },
    { .key = "rss_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_without_log, rss_bytes) },
    { .key = "largest_rss_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_without_log, largest) },
};

void mpr_report_without_log(struct mpr_document *doc, const struct mpr_without_log *rest)
{
    if (!rest->processes) return;
    mpr_doc_object(doc, "without_log", rest_fields, rest);
    mpr_doc_add_plain(doc, "%s left no log, with %s of RSS",
                      mpr_doc_counted(doc, rest->processes, "process", "processes"),
                      mpr_doc_size(doc, rest->rss_bytes));
    if (rest->processes > 1)
        mpr_doc_add_plain(doc, " in all, the largest %s", mpr_doc_size(doc, rest->largest));
    mpr_doc_add_plain(doc, ": RSS stayed below --min-rss");
    if (rest->unseen)
        mpr_doc_add_plain(doc, ", or memprof was not loaded (%s)",
                          mpr_doc_count(doc, rest->unseen));
    mpr_doc_end_wrapped(doc, 2);
}

static void heading(struct mpr_document *doc, const struct mpr_processes *all)
{
    size_t processes = 0, incomplete = 0;
    for (size_t i = 0; i < all->count; i++) {
        processes += all->at[i].image_of == MPR_NO_PROCESS;
        incomplete += all->at[i].summary.incomplete;
    }
    mpr_doc_line(doc, "%s, %s; %s from the first start to the last end",
                 mpr_doc_counted(doc, processes, "process", "processes"),
                 mpr_doc_counted(doc, all->count, "log", "logs"),
                 mpr_doc_duration(doc, lasted(all)));
    mpr_report_without_log(doc, &all->run->rest);
    if (!incomplete) return;
    mpr_doc_add(doc, MPR_WARN,
                "warning: events are missing in %s of them (for the reason: log verify --pid)",
                mpr_doc_count(doc, incomplete));
    mpr_doc_end(doc);
}

/* ---- several runs */

static void one_run(struct mpr_document *doc, const struct mpr_processes *all)
{
    heading(doc, all);
    tree(doc, all);
}

static void run_title(struct mpr_document *doc, const struct mpr_processes *of)
{
    const char *id = of->run->id, *start = mpr_report_utc(doc, of->at[0].summary.process.start_ns);
    mpr_doc_fact(doc, "run", mpr_value_known_text(id, MPR_UNKNOWN));
    mpr_doc_line(doc, "%s%s%s%s", *id ? "run " : "logs without a run id", id,
                 *start ? ", began at " : "", start);
}

/* The sums of two runs are never added up. */
static void each_run(struct mpr_document *doc, const struct mpr_processes *all)
{
    mpr_doc_line(doc, "%zu runs, shown separately", all->runs);
    mpr_doc_list(doc, "runs");
    for (size_t i = 0; i < all->runs; i++) {
        const struct mpr_processes of = mpr_processes_of_run(all, &doc->arena, &all->run[i]);
        mpr_doc_gap(doc);
        mpr_doc_open(doc, NULL);
        run_title(doc, &of);
        one_run(doc, &of);
        mpr_doc_close(doc);
    }
    mpr_doc_close(doc);
}

/* ---- for tools */

static struct mpr_value index_of(size_t index)
{
    return index == MPR_NO_PROCESS ? mpr_value_unknown : mpr_value_number(MPR_COUNT, index);
}

static const struct mpr_column heap_columns[] = {
    { .key = "heap", .type = MPR_WORD, MPR_FIELD(mpr_process_heap, heap) },
    { .key = "peak_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_process_heap, peak_bytes) },
    { .key = "peak_time_ns", .type = MPR_TIME, MPR_FIELD(mpr_process_heap, peak_time) },
    { .key = "end_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_process_heap, end_bytes) },
};

static void log_object(struct mpr_document *doc, const struct mpr_process *p)
{
    mpr_doc_open(doc, NULL);
    mpr_report_log_fields(doc, &p->summary);
    mpr_doc_fact(doc, "ended", mpr_value_text(mpr_report_ending(&doc->arena, &p->summary)));
    mpr_doc_fact(doc, "parent", index_of(p->parent));
    mpr_doc_fact(doc, "executed", index_of(p->executed));
    mpr_doc_fact(doc, "rss_high_water_bytes", mpr_value_known(MPR_BYTES, p->rss_high, MPF_UNKNOWN));
    mpr_doc_objects(doc, "heaps", heap_columns, p->heap, p->heaps);
    mpr_doc_close(doc);
}

#undef OF
#define OF(member) MPR_FIELD(mpr_process, member)

MPR_VALUE(host_peak, mpr_process, p, of_heap(&p->summary, p->host.peak_bytes, false))
MPR_VALUE(host_end, mpr_process, p, of_heap(&p->summary, p->host.end_bytes, false))
MPR_VALUE(ended, mpr_process, p, mpr_value_text(mpr_report_ending(&doc->arena, &p->summary)))

// clang-format off
static const struct mpr_column record_columns[] = {
    { .key = "log", .type = MPR_TEXT, OF(summary.path) },
    { .key = "host", .type = MPR_TEXT, OF(summary.process.host) },
    { .key = "pid", .type = MPR_COUNT, OF(summary.process.pid), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "ppid", .type = MPR_COUNT, OF(summary.process.ppid), .unless = MPR_UNKNOWN_AT_0 },
    { .key = "rank", .type = MPR_TEXT, OF(summary.process.rank) },
    { .key = "title", .type = MPR_TEXT, OF(title) },
    { .key = "start_ns", .type = MPR_COUNT, OF(summary.process.start_ns),
      .unless = MPR_UNKNOWN_AT_0 },
    { .key = "duration_ns", .type = MPR_SPAN, OF(summary.duration_ns) },
    { .key = "ended", .type = MPR_TEXT, .get = ended },
    { .key = "largest_peak_bytes", .type = MPR_BYTES, OF(peak_bytes) },
    { .key = "host_heap_peak_bytes", .type = MPR_BYTES, .get = host_peak },
    { .key = "host_heap_end_bytes", .type = MPR_BYTES, .get = host_end },
    { .key = "device", .type = MPR_TEXT, OF(gpu.heap) },
    { .key = "device_peak_bytes", .type = MPR_BYTES, OF(gpu.peak_bytes) },
    { .key = "device_end_bytes", .type = MPR_BYTES, OF(gpu.end_bytes) },
    { .key = "rss_high_water_bytes", .type = MPR_BYTES, OF(rss_high),
      .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "incomplete", .type = MPR_FLAG, OF(summary.incomplete) },
    { .key = "run", .type = MPR_TEXT, OF(summary.process.run) },
};
// clang-format on

void mpr_report_processes(struct mpr_document *doc, const struct mpr_processes *all)
{
    mpr_report_schema(doc, "memprof.processes/1");
    if (all->runs > 1) each_run(doc, all);
    else one_run(doc, all);
    mpr_doc_list(doc, "logs");
    for (size_t i = 0; i < all->count; i++) log_object(doc, &all->at[i]);
    mpr_doc_close(doc);
    mpr_doc_rows(doc, record_columns, all->at, all->count, .only = MPR_IN_CSV);
    mpr_doc_csv(doc, record_columns);
}
