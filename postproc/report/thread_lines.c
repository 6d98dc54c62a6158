#include "thread_lines.h"

#include <ctype.h>
#include <string.h>

#include "mpf/sample.h"
#include "naming.h"
#include "places.h"
#include "report_rows.h"

/* sum: of all of its threads, but for the own peak. */
struct thread_line {
    struct mpr_thread_row sum;
    const char *name, *note;
    bool own_at_least;
};

/* ---- what is alike */

size_t mpr_report_thread_bare(const char *label)
{
    const char *open = strrchr(label, '(');
    const bool number = open && open > label + 1 && open[-1] == ' ' &&
                        open[1 + strspn(open + 1, "0123456789")] == ')';
    return number ? (size_t)(open - 1 - label) : 0;
}

/* "worker12", which no range is called, is "worker" and "12". */
static size_t number_of(const char *name, size_t bytes)
{
    enum { DIGITS = 9 };
    size_t digits = 0;
    while (digits < bytes && isdigit((unsigned char)name[bytes - 1 - digits])) digits++;
    const char *number = name + bytes - digits;
    const bool is_one = digits && digits <= DIGITS && digits < bytes &&
                        isalpha((unsigned char)number[-1]) && (*number != '0' || digits == 1);
    return is_one ? digits : 0;
}

/* Threads without numbers in their names have the kernel's: each is its own line. */
static const char *const *path_of(struct mpr_document *doc, const char *label, size_t *depth)
{
    struct mpr_place place;
    const char **path = mpr_arena_alloc(&doc->arena, 2 * sizeof *path);
    const size_t bare = mpr_report_thread_bare(label), digits = number_of(label, bare);
    const char *name = mpr_arena_format(&doc->arena, "%.*s", (int)bare, label);
    *depth = 1;
    path[0] = label;
    if (digits) {
        path[0] = mpr_arena_format(&doc->arena, "%.*s", (int)(bare - digits), name);
        path[1] = name + bare - digits;
        *depth = 2;
    } else if (mpr_places_find(name, &place, 1)) path[0] = name;
    return path;
}

static struct mpr_row row_of(struct mpr_document *doc, const struct mpr_thread_row *r)
{
    struct mpr_row row = { .bytes = r->bytes,
                           .blocks = r->blocks,
                           .own_peak = r->own_peak,
                           .allocations = r->allocations,
                           .end_bytes = r->end_bytes,
                           .estimated = r->estimated };
    row.path = path_of(doc, r->thread.name, &row.depth);
    return row;
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
    line.name = line.sum.thread.name;
    if (l->rows == 1) return line;
    while ((link = link->next) != l->link) add(&line.sum, &row[link->row - first]);
    line.sum.own_peak = l->row.own_peak;
    line.own_at_least = l->own_peaks > l->row.own_peak;
    line.name =
        mpr_arena_format(&doc->arena, "%s%s (%s threads)", l->row.path[0],
                         l->row.depth > 1 ? l->row.path[1] : "", mpr_doc_count(doc, l->rows));
    return line;
}

static size_t fold(struct mpr_document *doc, struct mpr_line *line, size_t lines)
{
    const struct mpr_naming *naming = mpr_report_naming(doc);
    if (naming->unfold) return lines;
    lines = mpr_lines_merge(line, lines);
    return mpr_naming_fold(&doc->arena, naming, MPR_GROUP_RANGE, line, lines);
}

static const struct thread_line *lines_of(struct mpr_document *doc, const struct mpr_thread_heap *h,
                                          size_t *lines)
{
    struct mpr_row *row = mpr_arena_alloc(&doc->arena, h->rows * sizeof *row);
    struct mpr_row_link *link = mpr_arena_alloc(&doc->arena, h->rows * sizeof *link);
    struct mpr_line *line = mpr_arena_alloc(&doc->arena, h->rows * sizeof *line);
    struct thread_line *out = mpr_arena_alloc(&doc->arena, h->rows * sizeof *out);
    for (size_t i = 0; i < h->rows; i++) {
        row[i] = row_of(doc, &h->row[i]);
        link[i] = (struct mpr_row_link){ &link[i], &row[i] };
        line[i] = mpr_line_of(&row[i]);
        line[i].link = &link[i];
    }
    *lines = fold(doc, line, h->rows);
    if (*lines < h->rows) mpr_lines_sort(line, *lines, MPR_ORDER_BYTES);
    for (size_t i = 0; i < *lines; i++) out[i] = line_of(doc, &line[i], row, h->row);
    return out;
}

/* ---- the table */

static struct mpr_value name(const void *row, const void *context)
{
    const struct thread_line *l = row;
    (void)context;
    struct mpr_value v = mpr_value_path(&l->name, 1);
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
    { .title = "own peak", .type = MPR_BYTES, .get = own_peak, .spare = 2, .estimate = true },
    { .title = "allocs", .type = MPR_COUNT, OF(allocations), .width = 11, .spare = 3, .estimate = true },
    { .title = "in all", .type = MPR_BYTES, OF(all_bytes), .unless = MPR_UNKNOWN_AT_MAX },
    { .title = "from", .type = MPR_TIME, OF(thread.first_ns), .spare = 1 },
    { .title = "to", .type = MPR_TIME, OF(thread.ended_ns), .spare = 1, .unless = MPR_UNKNOWN_AT_MAX },
    { .title = "", .type = MPR_TEXT, MPR_FIELD(thread_line, note) },
};
// clang-format on

static bool estimated(const void *row) { return ((const struct thread_line *)row)->sum.estimated; }

void mpr_report_thread_lines(struct mpr_document *doc, const struct mpr_thread_heap *h)
{
    size_t lines;
    const struct thread_line *line = lines_of(doc, h, &lines);
    mpr_doc_table(
        doc, &(struct mpr_table){ .title = mpr_arena_format(&doc->arena, "%s by thread", h->name),
                                  .only = MPR_FOR_PEOPLE,
                                  MPR_COLUMNS(columns),
                                  MPR_ROWS(line, lines),
                                  .whole = h->peak_bytes,
                                  .estimated = estimated });
}
