#include "thread_lines.h"

#include "mpf/sample.h"
#include "naming.h"
#include "report_rows.h"

/* sum: of all of its threads, but for the own peak. */
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

/* ---- lines */

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

/* ---- the table */

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
static const struct mpr_column columns[] = {
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

void mpr_report_thread_lines(struct mpr_document *doc, const struct mpr_thread_heap *h, bool bounds)
{
    size_t lines;
    const struct thread_line *line = lines_of(doc, h, &lines);
    mpr_doc_table(doc, &(struct mpr_table){ .title = mpr_arena_format(&doc->arena, "%s by thread",
                                                                      mpr_heap_name(h->heap)),
                                            .only = MPR_FOR_PEOPLE,
                                            MPR_COLUMNS(columns),
                                            MPR_ROWS(line, lines),
                                            .whole = h->peak_bytes,
                                            .bounds = bounds,
                                            .estimated = estimated });
}
