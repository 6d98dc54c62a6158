/* Blocks that were freed soon, by who made them. */
#include <string.h>

#include "mpf/event.h"
#include "naming.h"
#include "report_hint.h"
#include "report_rows.h"
#include "reports.h"
#include "temporary.h"
#include "units.h"

/* A free's time is that of an event so much before it at most. */
#define CLOCK_NS UINT64_C(100000000)

/* ---- for tools */

struct around {
    struct mpr_site_context site;
    const char *log;
    uint8_t heap;
};

#define OF_ROW(member) MPR_FIELD(mpr_temporary_row, member)

static struct mpr_value median(const void *row, const void *context)
{
    const struct mpr_temporary_row *r = row;
    (void)context;
    return mpr_value_known(MPR_SPAN, mpr_tally_median(&r->tally), MPR_NO_MEDIAN);
}

// clang-format off
static const struct mpr_column row_columns[] = {
    { .key = "log", .type = MPR_TEXT, MPR_CONTEXT(around, log), .only = MPR_IN_CSV },
    { .key = "heap", .type = MPR_WORD, MPR_CONTEXT(around, heap), .only = MPR_IN_CSV },
    { .key = "path", MPR_PATH_FIELD(mpr_temporary_row, row.path) },
    MPR_SITE_COLUMNS,
    { .key = "temporary_blocks", .type = MPR_COUNT, OF_ROW(tally.soon), .sums = true },
    { .key = "temporary_bytes", .type = MPR_BYTES, OF_ROW(tally.soon_bytes), .sums = true },
    { .key = "blocks", .type = MPR_COUNT, OF_ROW(tally.blocks), .sums = true },
    { .key = "bytes", .type = MPR_BYTES, OF_ROW(tally.bytes), .sums = true },
    { .key = "freed_blocks", .type = MPR_COUNT, OF_ROW(tally.freed), .sums = true },
    { .key = "median_life_about_ns", .type = MPR_SPAN, .get = median },
};
// clang-format on

/* ---- for people */

struct shown {
    struct mpr_line line;
    struct mpr_tally tally;
};

static struct mpr_value path(const void *row, const void *context)
{
    const struct shown *s = row;
    (void)context;
    struct mpr_value v = mpr_value_path(s->line.row.path);
    v.told = true;
    v.caller = s->line.caller;
    return v;
}

static struct mpr_value shown_median(const void *row, const void *context)
{
    const struct shown *s = row;
    (void)context;
    return mpr_value_known(MPR_SPAN, mpr_tally_median(&s->tally), MPR_NO_MEDIAN);
}

#define OF(member) MPR_FIELD(shown, member)

// clang-format off
static const struct mpr_column shown_columns[] = {
    { .title = "path", .type = MPR_PATH, .get = path },
    { .title = "temporary", .type = MPR_COUNT, OF(tally.soon), .width = 12, .sums = true, .bound = true },
    { .title = "share", .type = MPR_SHARE, OF(tally.soon), .spare = 2 },
    { .title = "allocs", .type = MPR_COUNT, OF(tally.blocks), .width = 12, .spare = 1, .bound = true },
    { .title = "in all", .type = MPR_BYTES, OF(tally.bytes), .bound = true },
    { .title = "median", .type = MPR_SPAN, .get = shown_median, .estimate = true },
};
// clang-format on

/* A median is that of a class. */
static bool estimated(const void *row) { return ((const struct shown *)row)->tally.freed != 0; }

/* Lines that are merged have the lives of all of their rows. */
static struct mpr_tally sum_of(const struct mpr_line *line, const struct mpr_row *first,
                               const struct mpr_temporary_row *row)
{
    struct mpr_tally sum = { 0 };
    const struct mpr_row_link *link = line->link;
    do {
        mpr_tally_add(&sum, &row[link->row - first].tally);
        link = link->next;
    } while (link != line->link);
    return sum;
}

static void shown_rows(struct mpr_document *doc, const struct mpr_temporary_heap *h,
                       enum mpr_group by, bool bounds)
{
    size_t lines, live;
    struct mpr_row *row = mpr_arena_alloc(&doc->arena, h->rows * sizeof *row);
    for (size_t i = 0; i < h->rows; i++) row[i] = h->row[i].row;
    const struct mpr_line *line =
        mpr_naming_lines(&doc->arena, mpr_report_naming(doc), by, row, h->rows, &lines, &live);
    struct shown *shown = mpr_arena_alloc(&doc->arena, lines * sizeof *shown);
    for (size_t i = 0; i < lines; i++)
        shown[i] = (struct shown){ line[i], sum_of(&line[i], row, h->row) };
    const char *word = mpr_group_word(by);
    mpr_doc_table(doc, &(struct mpr_table){ .title = mpr_arena_format(&doc->arena, "%s by %s",
                                                                      mpr_heap_name(h->heap), word),
                                            .only = MPR_FOR_PEOPLE,
                                            MPR_COLUMNS(shown_columns),
                                            MPR_ROWS(shown, lines),
                                            .idle = lines - live,
                                            .whole = h->all.soon,
                                            .bounds = bounds,
                                            .estimated = estimated,
                                            .by = by });
}

static void summary_line(struct mpr_document *doc, const struct mpr_temporary *t,
                         const struct mpr_temporary_heap *h, bool bounds)
{
    struct mpr_number share, within;
    mpr_units_share(&share, h->all.soon, h->all.blocks);
    mpr_doc_gap(doc);
    mpr_doc_line(doc, "%s: %s%s allocation%s, %s in all; %s (%s) freed within %s, %s",
                 mpr_heap_name(h->heap), bounds ? "at least " : "",
                 mpr_doc_count(doc, h->all.blocks), h->all.blocks == 1 ? "" : "s",
                 mpr_doc_size(doc, h->all.bytes), mpr_doc_count(doc, h->all.soon), share.text,
                 mpr_units_span(&within, t->options.within_ns),
                 mpr_doc_size(doc, h->all.soon_bytes));
}

/* Temporary blocks that a range or a call names. */
static uint64_t named(const struct mpr_temporary_heap *h)
{
    uint64_t blocks = 0;
    for (size_t i = 0; i < h->rows; i++)
        if (h->row[i].row.path.depth) blocks += h->row[i].tally.soon;
    return blocks;
}

/* ---- all */

static const struct mpr_column heap_fields[] = {
    { .key = "heap", .type = MPR_WORD, MPR_FIELD(mpr_temporary_heap, heap) },
    { .key = "temporary_blocks", .type = MPR_COUNT, MPR_FIELD(mpr_temporary_heap, all.soon) },
    { .key = "temporary_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_temporary_heap, all.soon_bytes) },
    { .key = "blocks", .type = MPR_COUNT, MPR_FIELD(mpr_temporary_heap, all.blocks) },
    { .key = "bytes", .type = MPR_BYTES, MPR_FIELD(mpr_temporary_heap, all.bytes) },
};

/* True: another recording would name more of its blocks. */
static bool heap(struct mpr_document *doc, const struct mpr_temporary *t,
                 const struct mpr_temporary_heap *h)
{
    const struct mpr_log_peaks *log = &t->peaks.log[0];
    const bool bounds = mpr_report_is_thinned(&log->summary, h->heap);
    struct around *around = mpr_arena_alloc(&doc->arena, sizeof *around);
    *around = (struct around){ .site = { doc, log->choice.by },
                               .log = log->summary.path,
                               .heap = h->heap };
    mpr_doc_open(doc, NULL);
    mpr_doc_facts(doc, heap_fields, h);
    mpr_doc_table(
        doc, &(struct mpr_table){ .key = "rows",
                                  .only = MPR_IN_JSON | MPR_IN_CSV,
                                  MPR_COLUMNS(row_columns),
                                  MPR_ROWS(h->row, h->rows),
                                  .context = around,
                                  .folded = { mpr_heap_name(h->heap), NULL, "temporary_bytes" } });
    summary_line(doc, t, h, bounds);
    const bool hint = mpr_report_hint_counts(doc, log, h->heap, named(h), h->all.soon);
    if (h->all.soon) shown_rows(doc, h, log->choice.by, bounds);
    mpr_doc_close(doc);
    return hint;
}

/* What the recorder's clock does not tell (memprof(1)). */
static void lives_line(struct mpr_document *doc, const struct mpr_temporary *t)
{
    uint64_t soon = 0;
    for (size_t i = 0; i < t->heaps; i++)
        if (t->heap[i].heap < MPF_HEAP_NVTX) soon += t->heap[i].all.soon;
    if (!soon || t->options.within_ns >= CLOCK_NS) return;
    mpr_doc_gap(doc);
    mpr_doc_say(doc, "host blocks: lives may be told up to 0.1 s too short where one thread alone "
                     "recorded, with a pause before the free");
    mpr_doc_end_wrapped(doc, 2);
}

/* "host/mmap, host/shm" */
static const char *heaps_of(struct mpr_document *doc, const struct mpr_log_peaks *log)
{
    const char *text = "";
    for (size_t i = 0; i < log->heaps; i++)
        text = mpr_arena_format(&doc->arena, "%s%s%s", text, i ? ", " : "",
                                mpr_heap_name(log->heap[i].heap));
    return text;
}

/* There is no heap whose blocks are seen one by one. */
static void no_lives(struct mpr_document *doc, const struct mpr_log_peaks *log)
{
    const bool sampled =
        (log->heaps && log->heap[0].inside) || log->summary.recording.blocks == MPR_RECORDED_SAMPLE;
    mpr_doc_gap(doc);
    if (sampled) mpr_doc_line(doc, "only samples of its blocks were recorded");
    else if (log->heaps)
        mpr_doc_line(doc, "%s: counted by pages, so no lives of blocks are known",
                     heaps_of(doc, log));
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
    lives_line(doc, t);
    if (hint) {
        mpr_doc_gap(doc);
        mpr_doc_line(doc,
                     "for the names of the others, run again with a call stack for each block:");
        mpr_report_run(doc, &log->summary, "memprof run --stacks=all");
    }
    if (!t->heaps) no_lives(doc, log);
    mpr_report_notes(doc, log->note, log->notes);
    mpr_doc_csv(doc, row_columns);
}
