/* What each thread allocated, and when it lived. */
#include "mpf/sample.h"
#include "naming.h"
#include "report_rows.h"
#include "reports.h"
#include "thread_use.h"

/* ---- for people: one line for the threads of a pool, whose names differ in a number */

/* sum: over all of its threads, except for the own peak. */
struct thread_line {
    struct mpr_thread_row sum;
    const struct mpr_frame *name;
    const char *note;
    bool own_at_least;
};

static struct mpr_row row_of(const struct mpr_thread_row *r)
{
    return (struct mpr_row){ .path = mpr_frame_alone(&r->thread.frame),
                             .bytes = r->bytes,
                             .blocks = r->blocks,
                             .own_peak = r->own_peak,
                             .allocations = r->allocations,
                             .end_bytes = r->end_bytes,
                             .estimated = r->estimated };
}

static void add(struct mpr_thread_row *sum, const struct mpr_thread_row *r)
{
    sum->bytes += r->bytes;
    sum->end_bytes += r->end_bytes;
    sum->allocations += r->allocations;
    sum->estimated |= r->estimated;
    if (sum->all_bytes != MPF_UNKNOWN)
        sum->all_bytes = r->all_bytes == MPF_UNKNOWN ? MPF_UNKNOWN : sum->all_bytes + r->all_bytes;
    if (r->thread.first_ns < sum->thread.first_ns) sum->thread.first_ns = r->thread.first_ns;
    if (r->thread.ended_ns > sum->thread.ended_ns) sum->thread.ended_ns = r->thread.ended_ns;
}

static struct thread_line line_of(struct mpr_document *doc, const struct mpr_line *l,
                                  const struct mpr_row *first, const struct mpr_thread_row *row)
{
    const struct mpr_row_link *link = l->link;
    struct thread_line line = { .sum = row[link->row - first],
                                .note =
                                    mpr_report_siblings(doc, l->sibling_least, l->sibling_most) };
    line.name = l->row.path.frame[0];
    if (l->rows == 1) return line;
    while ((link = link->next) != l->link) add(&line.sum, &row[link->row - first]);
    line.sum.own_peak = l->row.own_peak;
    line.own_at_least = l->own_peaks > l->row.own_peak;
    return line;
}

static const struct thread_line *lines_of(struct mpr_document *doc, const struct mpr_thread_heap *h,
                                          size_t *lines)
{
    const struct mpr_naming *naming = mpr_report_naming(doc);
    struct mpr_row *row = mpr_arena_alloc(&doc->arena, h->rows * sizeof *row);
    struct thread_line *out = mpr_arena_alloc(&doc->arena, h->rows * sizeof *out);
    for (size_t i = 0; i < h->rows; i++) row[i] = row_of(&h->row[i]);
    struct mpr_line *line =
        mpr_naming_merge(&doc->arena, naming, MPR_GROUP_THREAD, row, h->rows, lines);
    *lines = mpr_naming_fold(&doc->arena, naming, MPR_GROUP_THREAD, line, *lines);
    for (size_t i = 0; i < *lines; i++) out[i] = line_of(doc, &line[i], row, h->row);
    return out;
}

static struct mpr_value name(const void *row, const void *context)
{
    const struct thread_line *l = row;
    (void)context;
    struct mpr_value v = mpr_value_path(mpr_frame_alone(&l->name));
    v.told = true;
    return v;
}

static struct mpr_value own_peak(const void *row, const void *context)
{
    const struct thread_line *l = row;
    (void)context;
    struct mpr_value v = mpr_value_number(MPR_BYTES, l->sum.own_peak);
    v.at_least = l->own_at_least;
    return v;
}

#define OF(member) MPR_FIELD(thread_line, sum.member)

// clang-format off
static const struct mpr_column line_columns[] = {
    { .title = "thread", .type = MPR_PATH, .get = name, .width = 26 },
    { .title = "at the peak", .type = MPR_BYTES, OF(bytes), .sums = true, .estimate = true },
    { .title = "share", .type = MPR_SHARE, OF(bytes), .spare = 2 },
    { .title = "at end", .type = MPR_BYTES, OF(end_bytes), .sums = true, .estimate = true },
    { .title = "own peak", .type = MPR_BYTES, .get = own_peak, .spare = 2, .estimate = true, .bound = true },
    { .title = "allocs", .type = MPR_COUNT, OF(allocations), .width = 11, .spare = 3, .estimate = true, .bound = true },
    { .title = "in all", .type = MPR_BYTES, OF(all_bytes), .unless = MPR_UNKNOWN_AT_MAX, .bound = true },
    { .title = "from", .type = MPR_TIME, OF(thread.first_ns), .spare = 1 },
    { .title = "to", .type = MPR_TIME, OF(thread.ended_ns), .spare = 1, .unless = MPR_UNKNOWN_AT_MAX },
    { .title = "", .type = MPR_TEXT, MPR_FIELD(thread_line, note) },
};
// clang-format on

static bool estimated(const void *row) { return ((const struct thread_line *)row)->sum.estimated; }

static void people(struct mpr_document *doc, const struct mpr_thread_heap *h, bool bounds)
{
    size_t lines;
    const struct thread_line *line = lines_of(doc, h, &lines);
    mpr_doc_table(doc, &(struct mpr_table){ .title = mpr_arena_format(&doc->arena, "%s by thread",
                                                                      mpr_heap_name(h->heap)),
                                            .only = MPR_FOR_PEOPLE,
                                            MPR_COLUMNS(line_columns),
                                            MPR_ROWS(line, lines),
                                            .whole = h->peak_bytes,
                                            .bounds = bounds,
                                            .estimated = estimated });
}

#undef OF

/* ---- for programs */

struct around {
    const char *log;
    uint8_t heap;
};

#define OF(member) MPR_FIELD(mpr_thread_row, member)

// clang-format off
static const struct mpr_column row_columns[] = {
    { .key = "log", .type = MPR_TEXT, MPR_CONTEXT(around, log), .only = MPR_IN_CSV },
    { .key = "heap", .type = MPR_WORD, MPR_CONTEXT(around, heap), .only = MPR_IN_CSV },
    { .key = "thread", .type = MPR_TEXT, OF(thread.name) },
    { .key = "number", .type = MPR_COUNT, OF(thread.number) },
    { .key = "bytes_at_peak", .type = MPR_BYTES, OF(bytes), .sums = true },
    { .key = "blocks_at_peak", .type = MPR_COUNT, OF(blocks) },
    { .key = "end_bytes", .type = MPR_BYTES, OF(end_bytes), .sums = true },
    { .key = "end_blocks", .type = MPR_COUNT, OF(end_blocks) },
    { .key = "own_peak_bytes", .type = MPR_BYTES, OF(own_peak) },
    { .key = "allocations", .type = MPR_COUNT, OF(allocations) },
    { .key = "all_bytes", .type = MPR_BYTES, OF(all_bytes),
      .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "first_ns", .type = MPR_TIME, OF(thread.first_ns) },
    { .key = "ended_ns", .type = MPR_TIME, OF(thread.ended_ns),
      .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "estimated", .type = MPR_FLAG, OF(estimated), .unless = MPR_ABSENT_AT_0 },
};

static const struct mpr_column thread_columns[] = {
    { .key = "name", .type = MPR_TEXT, MPR_FIELD(mpr_thread_life, name) },
    { .key = "number", .type = MPR_COUNT, MPR_FIELD(mpr_thread_life, number) },
    { .key = "tid", .type = MPR_COUNT, MPR_FIELD(mpr_thread_life, tid),
      .unless = MPR_UNKNOWN_AT_0 },
    { .key = "first_ns", .type = MPR_TIME, MPR_FIELD(mpr_thread_life, first_ns) },
    { .key = "ended_ns", .type = MPR_TIME, MPR_FIELD(mpr_thread_life, ended_ns),
      .unless = MPR_UNKNOWN_AT_MAX },
    { .key = "allocated", .type = MPR_FLAG, MPR_FIELD(mpr_thread_life, allocated) },
};
// clang-format on

static const struct mpr_column heap_fields[] = {
    { .key = "heap", .type = MPR_WORD, MPR_FIELD(mpr_thread_heap, heap) },
    { .key = "peak_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_thread_heap, peak_bytes) },
    { .key = "peak_time_ns", .type = MPR_TIME, MPR_FIELD(mpr_thread_heap, peak_time) },
    { .key = "end_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_thread_heap, end_bytes) },
};

static void heap(struct mpr_document *doc, const struct mpr_thread_use *use,
                 const struct mpr_thread_heap *h)
{
    struct around *around = mpr_arena_alloc(&doc->arena, sizeof *around);
    *around = (struct around){ use->peaks.log[0].summary.path, h->heap };
    mpr_doc_open(doc, NULL);
    mpr_doc_facts(doc, heap_fields, h);
    if (h->inside) mpr_doc_fact(doc, "inside", mpr_value_heap(h->inside));
    mpr_doc_table(doc, &(struct mpr_table){ .key = "rows",
                                            .only = MPR_IN_JSON | MPR_IN_CSV,
                                            MPR_COLUMNS(row_columns),
                                            MPR_ROWS(h->row, h->rows),
                                            .context = around });
    people(doc, h, mpr_report_is_thinned(&use->peaks.log[0].summary, h->heap));
    if (h->inside) {
        mpr_doc_say(doc, "%s", mpr_heap_name(h->heap));
        mpr_report_inside(doc, h->inside);
        mpr_doc_end(doc);
    }
    mpr_doc_close(doc);
}

enum { IDLE = 4 }; /* names of threads that are told */

/* Number 0 is nobody's: what no thread recorded. */
static bool is_idle(const struct mpr_thread_life *t) { return t->tid && !t->allocated; }

static void idle(struct mpr_document *doc, const struct mpr_thread_use *use)
{
    size_t count = 0;
    for (size_t i = 0; i < use->threads; i++) count += is_idle(&use->thread[i]);
    if (!count) return;
    mpr_doc_gap(doc);
    mpr_doc_say(doc, "%s thread%s allocated nothing:", mpr_doc_count(doc, count),
                count == 1 ? "" : "s");
    for (size_t i = 0, told = 0; i < use->threads && told < IDLE; i++)
        if (is_idle(&use->thread[i]))
            mpr_doc_say(doc, "%s %s", told++ ? "," : "", use->thread[i].name);
    if (count > IDLE) mpr_doc_say(doc, ", ...");
    mpr_doc_end(doc);
}

void mpr_report_threads(struct mpr_document *doc, const struct mpr_thread_use *use)
{
    mpr_report_schema(doc, "memprof.threads/1");
    mpr_report_log(doc, &use->peaks.log[0].summary);
    mpr_doc_table(doc, &(struct mpr_table){ .key = "threads",
                                            .only = MPR_IN_JSON,
                                            .all = MPR_IN_JSON,
                                            MPR_COLUMNS(thread_columns),
                                            MPR_ROWS(use->thread, use->threads) });
    mpr_doc_list(doc, "heaps");
    for (size_t i = 0; i < use->heaps; i++) heap(doc, use, &use->at[i]);
    mpr_doc_close(doc);
    idle(doc, use);
    mpr_doc_csv(doc, row_columns);
}
