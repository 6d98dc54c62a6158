#include "report_growth.h"

#include <stdlib.h>

#include "amount.h"
#include "naming.h"
#include "report_rows.h"

/* ---- columns */

#define OF(member) MPR_FIELD(mpr_growth_row, member)

MPR_VALUE(path, mpr_growth_row, r, r->key ? mpr_value_absent : mpr_value_path(r->path))

static int64_t change_of(const struct mpr_growth_row *r)
{
    return mpr_signed_sub(r->after, r->before);
}

MPR_VALUE(change, mpr_growth_row, r, mpr_value_amount(MPR_CHANGE, change_of(r)))

// clang-format off
static const struct mpr_column columns[] = {
    { .key = "part", .type = MPR_TEXT, OF(key), .unless = MPR_ABSENT_AT_0 },
    { .key = "path", .title = "what", .type = MPR_PATH, .get = path,
      MPR_SHOWN_FIELD(MPR_PATH, mpr_growth_row, path) },
    { .key = "before_bytes", .title = "before", .type = MPR_SIGNED, OF(before), .sums = true,
      .estimate = true },
    { .key = "after_bytes", .title = "after", .type = MPR_SIGNED, OF(after), .width = 10,
      .lead = " -> ", .sums = true, .estimate = true },
    { .title = "change", .type = MPR_CHANGE, .get = change, .sums = true, .estimate = true },
    { .key = "estimated", .type = MPR_FLAG, OF(estimated), .unless = MPR_ABSENT_AT_0 },
};
// clang-format on

static const struct mpr_column fields[] = {
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
    mpr_doc_facts(doc, fields, g);
    mpr_doc_rows(doc, columns, g->row, g->rows, .key = "changes", .only = MPR_IN_JSON,
                 .omitted = "", .folded = { of, NULL, of ? "after_bytes" : NULL, "before_bytes" });
    mpr_doc_close(doc);
}

/* ---- lines for people */

/* A line and the sum of its rows. */
struct grown {
    struct mpr_line line;
    struct mpr_growth_row sum;
};

static int by_change(const void *left, const void *right)
{
    const struct grown *a = left, *b = right;
    const int64_t x = llabs(change_of(&a->sum)), y = llabs(change_of(&b->sum));
    return x != y ? (x > y ? -1 : 1) : mpr_row_by_path(&a->line.row, &b->line.row);
}

/* Rows of paths in the form that the naming merges: row[i] is of[i]. */
struct paths {
    const struct mpr_growth_row **of;
    struct mpr_row *row;
    size_t rows;
};

static struct mpr_growth_row sum_of(const struct paths *p, const struct mpr_line *l)
{
    struct mpr_growth_row sum = { .path = l->row.path };
    const struct mpr_row_link *link = l->link;
    do {
        const struct mpr_growth_row *row = p->of[link->row - p->row];
        sum.before = mpr_signed_add(sum.before, row->before);
        sum.after = mpr_signed_add(sum.after, row->after);
        sum.estimated |= row->estimated;
        link = link->next;
    } while (link != l->link);
    return sum;
}

/* Folds the lines that grew, or those that shrank, by the bytes of their change.  If both folded
 * together a sum would hide changes. */
static size_t fold_side(struct mpr_document *doc, const struct paths *p, enum mpr_group by,
                        const struct mpr_line *line, size_t lines, bool grew, struct grown *out)
{
    struct mpr_line *side = mpr_arena_alloc(&doc->arena, lines * sizeof *side);
    size_t count = 0;
    for (size_t i = 0; i < lines; i++) {
        const struct mpr_growth_row sum = sum_of(p, &line[i]);
        const int64_t bytes = change_of(&sum);
        if (!bytes || (bytes > 0) != grew) continue;
        side[count] = line[i];
        side[count++].row.bytes = (uint64_t)llabs(bytes);
    }
    count = mpr_naming_group(&doc->arena, mpr_report_naming(doc), by, side, count);
    for (size_t i = 0; i < count; i++) out[i] = (struct grown){ side[i], sum_of(p, &side[i]) };
    return count;
}

/* A named part of the account is a line whose path is one frame. */
static struct grown part_of(const struct mpr_growth_row *r)
{
    struct mpr_row row = { .path = mpr_frame_alone(&r->name) };
    return (struct grown){ mpr_line_of(&row), *r };
}

/* Sets all lines, the largest change first; returns their number, at most that of the rows. */
static size_t lines_of(struct mpr_document *doc, const struct mpr_growth *g, enum mpr_group by,
                       struct grown *out)
{
    struct paths p = { .of = mpr_arena_alloc(&doc->arena, g->rows * sizeof *p.of),
                       .row = mpr_arena_alloc(&doc->arena, g->rows * sizeof *p.row) };
    size_t count = 0, lines;
    for (size_t i = 0; i < g->rows; i++) {
        if (g->row[i].key) {
            out[count++] = part_of(&g->row[i]);
            continue;
        }
        p.of[p.rows] = &g->row[i];
        p.row[p.rows++] = (struct mpr_row){ .path = g->row[i].path };
    }
    const struct mpr_line *line =
        mpr_naming_merge(&doc->arena, mpr_report_naming(doc), by, p.row, p.rows, &lines);
    count += fold_side(doc, &p, by, line, lines, false, out + count);
    count += fold_side(doc, &p, by, line, lines, true, out + count);
    if (count) qsort(out, count, sizeof *out, by_change);
    return count;
}

static bool estimated(const void *row) { return ((const struct mpr_growth_row *)row)->estimated; }

void mpr_report_growth_rows(struct mpr_document *doc, const char *whole, const struct mpr_growth *g,
                            enum mpr_group by)
{
    enum { ROWS = 10 };
    const size_t first = whole != NULL;
    struct grown *grown = mpr_arena_alloc(&doc->arena, (g->rows + 1) * sizeof *grown);
    if (whole) {
        const struct mpr_growth_row sum = { .name = mpr_frame_named(&doc->arena, MPR_FRAME_LABEL,
                                                                    whole),
                                            .before = mpr_saturating_signed(g->before),
                                            .after = mpr_saturating_signed(g->after) };
        struct mpr_growth_row *row = mpr_arena_alloc(&doc->arena, sizeof *row);
        *row = sum; /* the line's path points to its name */
        *grown = part_of(row);
    }
    const size_t lines = first + lines_of(doc, g, by, grown + first);
    struct mpr_growth_row *row = mpr_arena_alloc(&doc->arena, lines * sizeof *row);
    struct mpr_line *line = mpr_arena_alloc(&doc->arena, lines * sizeof *line);
    const char **note = mpr_arena_alloc(&doc->arena, lines * sizeof *note);
    for (size_t i = 0; i < lines; i++) {
        row[i] = grown[i].sum;
        line[i] = grown[i].line;
        note[i] = mpr_report_siblings(doc, line[i].sibling_least, line[i].sibling_most);
    }
    mpr_doc_rows(doc, columns, row, lines, .only = MPR_FOR_PEOPLE, .top = ROWS + first,
                 .estimated = estimated, .by = by, .lines = { .siblings = true }, .line = line,
                 .note = note);
}

struct mpr_most_grown mpr_report_most_grown(struct mpr_document *doc, const struct mpr_growth *g,
                                            enum mpr_group by)
{
    struct grown *grown = mpr_arena_alloc(&doc->arena, (g->rows + 1) * sizeof *grown);
    const size_t lines = g->valid ? lines_of(doc, g, by, grown) : 0;
    for (size_t i = 0; i < lines; i++) {
        const struct mpr_growth_row *r = &grown[i].sum;
        const struct mpr_line *l = &grown[i].line;
        if (change_of(r) <= 0) continue;
        const char *name =
            r->key ? r->name->text
            : !l->row.path.depth
                ? mpr_group_empty_path(by)
                : mpr_arena_format(&doc->arena, "%s%s%s", mpr_doc_path(doc, l->row.path),
                                   *l->caller ? " <- " : "", l->caller);
        return (struct mpr_most_grown){ name, (uint64_t)change_of(r), r->estimated };
    }
    return (struct mpr_most_grown){ NULL, 0, false };
}
