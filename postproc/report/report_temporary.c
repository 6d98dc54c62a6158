/* Temporary blocks, which were freed soon, by the code that allocated them. */
#include "lifetimes.h"
#include "mpf/event.h"
#include "report_rows.h"
#include "reports.h"
#include "units.h"

/* The recorded time of a free may be that of an event that is up to this much earlier. */
#define CLOCK_NS UINT64_C(100000000)

/* ---- rows */

#define OF_ROW(member) MPR_FIELD(mpr_temporary_row, member)

MPR_VALUE(median, mpr_temporary_row, r,
          mpr_value_known(MPR_SPAN, mpr_lifetime_stats_median(&r->stats), MPR_LIFETIME_UNKNOWN))

// clang-format off
static const struct mpr_column row_columns[] = {
    MPR_LOG_COLUMN,
    { .key = "heap", .type = MPR_WORD, MPR_CONTEXT(mpr_temporary_heap, heap), .only = MPR_IN_CSV },
    { .key = "path", .title = "path", MPR_PATH_FIELD(mpr_temporary_row, row.path) },
    MPR_SITE_COLUMNS,
    { .key = "temporary_blocks", .title = "temporary", .type = MPR_COUNT, OF_ROW(stats.soon),
      .share = 2, .width = 12, .sums = true, .bound = true },
    { .key = "temporary_bytes", .type = MPR_BYTES, OF_ROW(stats.soon_bytes), .sums = true },
    { .key = "blocks", .title = "allocs", .type = MPR_COUNT, OF_ROW(stats.blocks), .width = 12,
      .sums = true, .sums_in = MPR_IN_JSON, .spare = 1, .bound = true },
    { .key = "bytes", .title = "bytes", .type = MPR_BYTES, OF_ROW(stats.bytes), .sums = true,
      .sums_in = MPR_IN_JSON, .bound = true },
    { .key = "freed_blocks", .type = MPR_COUNT, OF_ROW(stats.freed), .sums = true },
    { .key = "median_life_about_ns", .title = "median life", .type = MPR_SPAN, .get = median,
      .estimate = true, .width = 12 },
};
// clang-format on

/* The median lifetime is estimated from classes of lifetimes. */
static bool estimated(const void *row)
{
    return ((const struct mpr_temporary_row *)row)->stats.freed != 0;
}

static void join(struct mpr_arena *arena, void *line, const void *const *row, size_t rows)
{
    struct mpr_lifetime_stats sum = { 0 };
    (void)arena;
    for (size_t i = 0; i < rows; i++)
        mpr_lifetime_stats_add(&sum, &((const struct mpr_temporary_row *)row[i])->stats);
    ((struct mpr_temporary_row *)line)->stats = sum;
}

/* ---- heaps */

static const struct mpr_column heap_fields[] = {
    { .key = "heap", .type = MPR_WORD, MPR_FIELD(mpr_temporary_heap, heap) },
    { .key = "temporary_blocks", .type = MPR_COUNT, MPR_FIELD(mpr_temporary_heap, all.soon) },
    { .key = "temporary_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_temporary_heap, all.soon_bytes) },
    { .key = "blocks", .type = MPR_COUNT, MPR_FIELD(mpr_temporary_heap, all.blocks) },
    { .key = "bytes", .type = MPR_BYTES, MPR_FIELD(mpr_temporary_heap, all.bytes) },
};

/* Returns true if another recording would name more of its blocks. */
static bool heap(struct mpr_document *doc, const struct mpr_temporary *t,
                 const struct mpr_temporary_heap *h)
{
    const struct mpr_log_peaks *log = &t->peaks.log[0];
    const char *name = mpr_heap_name(h->heap);
    const bool bounds = mpr_report_is_thinned(&log->summary, h->heap);
    struct mpr_number share, within;
    uint64_t named = 0; /* temporary blocks with a range or a call */
    for (size_t i = 0; i < h->rows; i++)
        if (h->row[i].row.path.depth) named += h->row[i].stats.soon;
    mpr_doc_open(doc, NULL);
    mpr_doc_facts(doc, heap_fields, h);
    mpr_units_share(&share, h->all.soon, h->all.blocks);
    mpr_doc_gap(doc);
    mpr_doc_line(
        doc, "%s: %s%s of %s; %s (%s) freed within %s: %s", name, bounds ? "at least " : "",
        mpr_doc_counted(doc, h->all.blocks, "allocation", "allocations"),
        mpr_doc_size(doc, h->all.bytes), mpr_doc_count(doc, h->all.soon), share.text,
        mpr_units_span(&within, t->options.within_ns), mpr_doc_size(doc, h->all.soon_bytes));
    const bool hint = mpr_report_hint_counts(doc, log, h->heap, named, h->all.soon);
    mpr_doc_rows(doc, row_columns, h->row, h->rows, .key = "rows",
                 .title = mpr_report_heading(doc, name, log->choice.by),
                 .only = h->all.soon ? MPR_EVERYWHERE : MPR_IN_JSON | MPR_IN_CSV, .context = h,
                 .whole = h->all.soon, .by = log->choice.by, .bounds = bounds,
                 .estimated = estimated, .lines = { .merged = true, .join = join },
                 .folded = { name, NULL, "temporary_bytes" });
    mpr_doc_close(doc);
    return hint;
}

/* Says how exact the lifetimes are (memprof(1)). */
static void lifetimes_line(struct mpr_document *doc, const struct mpr_temporary *t)
{
    uint64_t soon = 0;
    for (size_t i = 0; i < t->heaps; i++)
        if (t->heap[i].heap < MPF_HEAP_NVTX) soon += t->heap[i].all.soon;
    if (!soon || t->options.within_ns >= CLOCK_NS) return;
    mpr_doc_gap(doc);
    mpr_doc_add_plain(doc, "host blocks: lifetimes may be up to 0.1 s short");
    mpr_doc_end_wrapped(doc, 2);
}

/* For a log in which no heap's blocks were recorded one by one. */
static void no_lifetimes(struct mpr_document *doc, const struct mpr_log_peaks *log)
{
    const char *heaps = ""; /* "host/mmap, host/shm" */
    for (size_t i = 0; i < log->heaps; i++)
        heaps = mpr_arena_format(&doc->arena, "%s%s%s", heaps, i ? ", " : "",
                                 mpr_heap_name(log->heap[i].heap));
    mpr_doc_gap(doc);
    if ((log->heaps && log->heap[0].inside) || log->summary.recording.blocks == MPR_RECORDED_SAMPLE)
        mpr_doc_line(doc, "only samples of its blocks were recorded");
    else if (log->heaps)
        mpr_doc_line(doc, "%s: counted by pages, so lifetimes are not known", heaps);
    else mpr_doc_line(doc, "no blocks were recorded");
}

void mpr_report_temporary(struct mpr_document *doc, const struct mpr_temporary *t)
{
    const struct mpr_log_peaks *log = &t->peaks.log[0];
    mpr_report_schema(doc, "memprof.temporary/1");
    mpr_report_log(doc, &log->summary);
    mpr_doc_fact(doc, "by", mpr_value_text(mpr_group_name[log->choice.by]));
    mpr_doc_fact(doc, "within_ns", mpr_value_number(MPR_SPAN, t->options.within_ns));
    mpr_report_choice(doc, &log->choice);
    mpr_doc_list(doc, "heaps");
    bool hint = false;
    for (size_t i = 0; i < t->heaps; i++) hint |= heap(doc, t, &t->heap[i]);
    mpr_doc_close(doc);
    lifetimes_line(doc, t);
    if (hint) {
        mpr_doc_gap(doc);
        mpr_doc_line(doc,
                     "for the names of the others, record again with a call stack for each block:");
        mpr_report_run(doc, &log->summary, "memprof run --stacks=all");
    }
    if (!t->heaps) no_lifetimes(doc, log);
    mpr_report_notes(doc, log->note, log->notes);
    mpr_doc_csv(doc, row_columns);
}
