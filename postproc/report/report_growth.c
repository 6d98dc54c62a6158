#include "report_growth.h"

#include <stdlib.h>

#include "amount.h"
#include "naming.h"
#include "report_rows.h"

enum { ROWS = 10 };

/* ---- fields */

#define OF(member) MPR_FIELD(mpr_growth_row, member)

static struct mpr_value part(const void *row, const void *context)
{
    const struct mpr_growth_row *r = row;
    (void)context;
    return r->key ? mpr_value_text(r->key) : mpr_value_absent;
}

static struct mpr_value path(const void *row, const void *context)
{
    const struct mpr_growth_row *r = row;
    (void)context;
    return r->key ? mpr_value_absent : mpr_value_path(r->path);
}

static const struct mpr_column columns[] = {
    { .key = "part", .get = part },
    { .key = "path", .type = MPR_PATH, .get = path },
    { .key = "before_bytes", .type = MPR_SIGNED, OF(before) },
    { .key = "after_bytes", .type = MPR_SIGNED, OF(after) },
    { .key = "estimated", .type = MPR_FLAG, OF(estimated), .unless = MPR_ABSENT_AT_0 },
};

static const struct mpr_column whole_columns[] = {
    { .key = "time_ns", .type = MPR_TIME, MPR_FIELD(mpr_growth, time), .unless = MPR_ABSENT_AT_0 },
    { .key = "before_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_growth, before) },
    { .key = "after_bytes", .type = MPR_BYTES, MPR_FIELD(mpr_growth, after) },
};

void mpr_report_growth(struct mpr_document *doc, const char *key, const struct mpr_growth *g,
                       const char *of)
{
    if (!g->valid) {
        mpr_doc_fact(doc, key, mpr_value_unknown);
        return;
    }
    mpr_doc_open(doc, key);
    mpr_doc_facts(doc, whole_columns, g);
    mpr_doc_table(doc, &(struct mpr_table){
                           .key = "changes",
                           .only = MPR_IN_JSON,
                           MPR_COLUMNS(columns),
                           MPR_ROWS(g->row, g->rows),
                           .omitted = "",
                           .folded = { of, NULL, of ? "after_bytes" : NULL, "before_bytes" } });
    mpr_doc_close(doc);
}

/* ---- lines */

/* sum: of the rows that it stands for. */
struct line {
    struct mpr_growth_row sum;
    const char *caller, *note;
};

#undef OF
#define OF(member) MPR_FIELD(line, sum.member)

static struct mpr_value name(const void *row, const void *context)
{
    const struct line *l = row;
    const struct mpr_growth_row *r = &l->sum;
    (void)context;
    struct mpr_value v =
        r->key ? mpr_value_path(mpr_frame_alone(&r->name)) : mpr_value_path(r->path);
    v.told = true;
    v.caller = l->caller;
    return v;
}

static int64_t change_of(const struct mpr_growth_row *r) { return mpr_minus(r->after, r->before); }

static struct mpr_value change(const void *row, const void *context)
{
    const struct line *l = row;
    (void)context;
    return mpr_value_amount(MPR_CHANGE, change_of(&l->sum));
}

// clang-format off
static const struct mpr_column line_columns[] = {
    { .title = "what", .type = MPR_PATH, .get = name },
    { .title = "before", .type = MPR_SIGNED, OF(before), .sums = true, .estimate = true },
    { .title = "after", .type = MPR_SIGNED, OF(after), .width = 10, .lead = " -> ",
      .sums = true, .estimate = true },
    { .title = "change", .type = MPR_CHANGE, .get = change, .sums = true, .estimate = true },
    { .title = "", .type = MPR_TEXT, MPR_FIELD(line, note) },
};
// clang-format on

static bool estimated(const void *row) { return ((const struct line *)row)->sum.estimated; }

/* A named part has a path of one frame. */
static struct mpr_row path_of(const struct mpr_growth_row *r)
{
    struct mpr_row row = { .path = r->path };
    if (r->key) row.path = mpr_frame_alone(&r->name);
    return row;
}

static int by_name(const struct mpr_growth_row *a, const struct mpr_growth_row *b)
{
    const struct mpr_row x = path_of(a), y = path_of(b);
    return mpr_row_by_path(&x, &y);
}

static int by_change(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    const int64_t x = llabs(change_of(&a->sum)), y = llabs(change_of(&b->sum));
    return x != y ? (x > y ? -1 : 1) : by_name(&a->sum, &b->sum);
}

/* Rows as naming knows them: one of what changed for each in `of`. */
struct ranges {
    const struct mpr_growth_row **of;
    struct mpr_row *row;
    size_t rows;
};

static struct ranges ranges_of(struct mpr_document *doc, const struct mpr_growth *g)
{
    struct ranges r = { .of = mpr_arena_alloc(&doc->arena, g->rows * sizeof *r.of),
                        .row = mpr_arena_alloc(&doc->arena, g->rows * sizeof *r.row) };
    for (size_t i = 0; i < g->rows; i++) {
        const struct mpr_growth_row *row = &g->row[i];
        if (row->key) continue;
        r.of[r.rows] = row;
        r.row[r.rows++] = (struct mpr_row){ .path = row->path };
    }
    return r;
}

static struct mpr_growth_row sum_of(const struct ranges *r, const struct mpr_line *l)
{
    struct mpr_growth_row sum = { .path = l->row.path };
    const struct mpr_row_link *link = l->link;
    do {
        const struct mpr_growth_row *row = r->of[link->row - r->row];
        sum.before = mpr_plus(sum.before, row->before);
        sum.after = mpr_plus(sum.after, row->after);
        sum.estimated |= row->estimated;
        link = link->next;
    } while (link != l->link);
    return sum;
}

/* Those that grew, or those that shrank; what they changed by are their bytes. */
static size_t changed(const struct ranges *r, const struct mpr_line *line, size_t lines, bool grew,
                      struct mpr_line *to)
{
    size_t count = 0;
    for (size_t i = 0; i < lines; i++) {
        const struct mpr_growth_row sum = sum_of(r, &line[i]);
        const int64_t by = change_of(&sum);
        if (!by || (by > 0) != grew) continue;
        to[count] = line[i];
        to[count++].row.bytes = (uint64_t)llabs(by);
    }
    return count;
}

/* What grew and what shrank fold apart, so that a sum hides neither. */
static size_t range_lines(struct mpr_document *doc, const struct mpr_growth *g, enum mpr_group by,
                          struct line *out)
{
    const struct mpr_naming *naming = mpr_report_naming(doc);
    const struct ranges r = ranges_of(doc, g);
    size_t lines, count = 0;
    const struct mpr_line *all = mpr_naming_merge(&doc->arena, naming, by, r.row, r.rows, &lines);
    struct mpr_line *some = mpr_arena_alloc(&doc->arena, lines * sizeof *some);
    for (int grew = 0; grew < 2; grew++) {
        const size_t found = changed(&r, all, lines, grew, some),
                     left = mpr_naming_fold(&doc->arena, naming, by, some, found);
        for (size_t i = 0; i < left; i++)
            out[count++] = (struct line){ sum_of(&r, &some[i]), some[i].caller,
                                          mpr_report_siblings(doc, some[i].sibling_least,
                                                              some[i].sibling_most) };
    }
    return count;
}

static size_t part_lines(const struct mpr_growth *g, struct line *out)
{
    size_t count = 0;
    for (size_t i = 0; i < g->rows; i++)
        if (g->row[i].key) out[count++] = (struct line){ g->row[i], "", "" };
    return count;
}

/* All of them, what changed most first. */
static size_t lines_of(struct mpr_document *doc, const struct mpr_growth *g, enum mpr_group by,
                       struct line *out)
{
    size_t lines = part_lines(g, out);
    lines += range_lines(doc, g, by, out + lines);
    if (lines) qsort(out, lines, sizeof *out, by_change);
    return lines;
}

void mpr_report_growth_rows(struct mpr_document *doc, const char *whole, const struct mpr_growth *g,
                            enum mpr_group by)
{
    struct line *line = mpr_arena_alloc(&doc->arena, (g->rows + 1) * sizeof *line);
    const size_t first = whole != NULL;
    if (whole)
        *line = (struct line){ { .key = whole,
                                 .name = mpr_frame_named(&doc->arena, MPR_FRAME_LABEL, whole),
                                 .before = mpr_amount(g->before),
                                 .after = mpr_amount(g->after) },
                               "",
                               "" };
    const size_t lines = first + lines_of(doc, g, by, line + first);
    mpr_doc_table(doc, &(struct mpr_table){ .only = MPR_FOR_PEOPLE,
                                            MPR_COLUMNS(line_columns),
                                            MPR_ROWS(line, lines),
                                            .top = ROWS + first,
                                            .estimated = estimated,
                                            .by = by });
}

/* "load > decode <- main" */
static const char *words(struct mpr_document *doc, const struct line *l, enum mpr_group by)
{
    if (l->sum.key) return l->sum.name->text;
    if (!l->sum.path.depth) return mpr_group_nowhere(by);
    return mpr_arena_format(&doc->arena, "%s%s%s", mpr_doc_path(doc, l->sum.path),
                            *l->caller ? " <- " : "", l->caller);
}

struct mpr_most_grown mpr_report_most_grown(struct mpr_document *doc, const struct mpr_growth *g,
                                            enum mpr_group by)
{
    struct line *line = mpr_arena_alloc(&doc->arena, (g->rows + 1) * sizeof *line);
    const size_t lines = g->valid ? lines_of(doc, g, by, line) : 0;
    for (size_t i = 0; i < lines; i++)
        if (change_of(&line[i].sum) > 0)
            return (struct mpr_most_grown){ words(doc, &line[i], by),
                                            (uint64_t)change_of(&line[i].sum),
                                            line[i].sum.estimated };
    return (struct mpr_most_grown){ NULL, 0, false };
}
