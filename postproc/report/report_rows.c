#include "report_rows.h"

#include <stdlib.h>

#include "amount.h"
#include "growth.h"
#include "module_outliers.h"
#include "naming.h"

const struct mpr_column mpr_row_columns[3] = { MPR_ROW_PATH, MPR_ROW_BYTES, MPR_ROW_BLOCKS };

const char *mpr_report_heading(struct mpr_document *doc, const char *of, enum mpr_group by)
{
    return mpr_arena_format(&doc->arena, "%s by %s", of, mpr_group_word(by));
}

const char *mpr_report_call_words(struct mpr_document *doc, struct mpr_path path,
                                  const char *caller)
{
    return mpr_frame_with_caller(&doc->arena, mpr_doc_path(doc, path), caller);
}

const char *mpr_report_path_words(struct mpr_document *doc, struct mpr_path path)
{
    const struct mpr_naming *naming = doc->naming;
    if (!naming || !naming->user_frames) return mpr_doc_path(doc, path);
    return mpr_doc_path(
        doc, mpr_user_frames_summary(naming->user_frames, &doc->arena, path, false).path);
}

/* ---- modules */

#define OF_SUBTREE(member) MPR_FIELD(mpr_module_outlier, member)

static const struct mpr_column module_columns[] = {
    { .key = "module", .type = MPR_TEXT, OF_SUBTREE(module) },
    { .key = "bytes", .type = MPR_BYTES, OF_SUBTREE(bytes) },
    { .key = "blocks", .type = MPR_COUNT, OF_SUBTREE(blocks) },
    { .key = "siblings", .type = MPR_COUNT, OF_SUBTREE(siblings) },
    { .key = "estimated", .type = MPR_FLAG, OF_SUBTREE(estimated), .unless = MPR_ABSENT_AT_0 },
    { .key = "smallest_sibling_bytes", .type = MPR_BYTES, OF_SUBTREE(sibling_least) },
    { .key = "largest_sibling_bytes", .type = MPR_BYTES, OF_SUBTREE(sibling_most) },
};

void mpr_report_modules(struct mpr_document *doc, const struct mpr_row *row, size_t rows,
                        uint64_t whole)
{
    enum { SHOWN = 3 };
    size_t modules;
    const struct mpr_module_outlier *m =
        mpr_module_outliers(&doc->arena, row, rows, whole, &modules);
    if (!modules) return;
    mpr_doc_objects(doc, "module_outliers", module_columns, m, modules);
    for (size_t i = 0; i < modules && i < SHOWN; i++)
        mpr_doc_line(doc, "  [%s] in all: %s%s  %s", m[i].module, m[i].estimated ? "~" : "",
                     mpr_doc_size(doc, m[i].bytes),
                     mpr_report_siblings(doc, m[i].sibling_least, m[i].sibling_most));
}

/* ---- growth */

#define OF_GROWTH(member) MPR_FIELD(mpr_growth_row, member)

MPR_VALUE(path, mpr_growth_row, r, r->key ? mpr_value_absent : mpr_value_path(r->path))

MPR_VALUE(change, mpr_growth_row, r,
          mpr_value_amount(MPR_CHANGE, mpr_signed_sub(r->after, r->before)))

// clang-format off
static const struct mpr_column growth_columns[] = {
    { .key = "part", .type = MPR_TEXT, OF_GROWTH(key), .unless = MPR_ABSENT_AT_0 },
    { .key = "path", .title = "what", .type = MPR_PATH, .get = path,
      MPR_SHOWN_FIELD(MPR_PATH, mpr_growth_row, path) },
    { .key = "before_bytes", .title = "before", .type = MPR_SIGNED, OF_GROWTH(before), .sums = true,
      .estimate = true },
    { .key = "after_bytes", .title = "after", .type = MPR_SIGNED, OF_GROWTH(after), .width = 10,
      .lead = " -> ", .sums = true, .estimate = true },
    { .title = "change", .type = MPR_CHANGE, .get = change, .sums = true, .estimate = true },
    { .key = "estimated", .type = MPR_FLAG, OF_GROWTH(estimated), .unless = MPR_ABSENT_AT_0 },
};
// clang-format on

static const struct mpr_column growth_fields[] = {
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
    mpr_doc_facts(doc, growth_fields, g);
    mpr_doc_rows(doc, growth_columns, g->row, g->rows, .key = "changes", .only = MPR_IN_JSON,
                 .omitted = "", .folded = { of, NULL, of ? "after_bytes" : NULL, "before_bytes" });
    mpr_doc_close(doc);
}

/* ---- lines for people, in which run 0 is the instant before and run 1 the one after */

static int64_t change_in(const struct mpr_line *l)
{
    return mpr_signed_sub(l->of_run[1], l->of_run[0]);
}

MPR_COMPARE(by_change, struct mpr_line,
            mpr_compare_signed(llabs(change_in(b)), llabs(change_in(a)))
                ?: mpr_row_by_path(&a->row, &b->row))

/* Returns the line of a row. A named part of the account has a path of one frame. */
static struct mpr_line line_of(struct mpr_document *doc, const struct mpr_growth_row *r,
                               enum mpr_group by)
{
    const struct mpr_row row = { .path = r->key ? mpr_frame_alone(&r->name) : r->path,
                                 .estimated = r->estimated };
    struct mpr_line line =
        r->key ? mpr_line_of(&row) : mpr_naming_line(&doc->arena, mpr_report_naming(doc), by, &row);
    line.of_run = mpr_arena_alloc(&doc->arena, 2 * sizeof *line.of_run);
    line.of_run[0] = r->before;
    line.of_run[1] = r->after;
    line.runs = 2;
    return line;
}

/* Fills all lines, largest change first, and returns their number, which is at most that of the
 * rows. Lines that grew and lines that shrank are grouped separately, because a common sum would
 * hide changes. */
static size_t lines_of(struct mpr_document *doc, const struct mpr_growth *g, enum mpr_group by,
                       struct mpr_line *out)
{
    struct mpr_line *line = mpr_arena_alloc(&doc->arena, g->rows * sizeof *line);
    size_t lines = 0, count = 0;
    for (size_t i = 0; i < g->rows; i++)
        *(g->row[i].key ? &out[count++] : &line[lines++]) = line_of(doc, &g->row[i], by);
    lines = mpr_lines_merge(line, lines);
    for (int grew = 0; grew < 2; grew++) {
        struct mpr_line *side = out + count;
        size_t size = 0;
        for (size_t i = 0; i < lines; i++) {
            const int64_t bytes = change_in(&line[i]);
            if (!bytes || (bytes > 0) != grew) continue;
            side[size] = line[i];
            side[size++].row.bytes = (uint64_t)llabs(bytes);
        }
        count += mpr_naming_group(&doc->arena, mpr_report_naming(doc), by, side, size);
    }
    if (count) qsort(out, count, sizeof *out, by_change);
    return count;
}

static bool estimated(const void *row) { return ((const struct mpr_growth_row *)row)->estimated; }

void mpr_report_growth_rows(struct mpr_document *doc, const char *whole, const struct mpr_growth *g,
                            enum mpr_group by)
{
    enum { ROWS = 10 };
    struct mpr_line *line = mpr_arena_alloc(&doc->arena, (g->rows + 1) * sizeof *line);
    struct mpr_growth_row *row = mpr_arena_alloc(&doc->arena, (g->rows + 1) * sizeof *row);
    const char **note = mpr_arena_alloc(&doc->arena, (g->rows + 1) * sizeof *note);
    const size_t first = whole != NULL;
    if (whole) {
        struct mpr_growth_row *sum = mpr_arena_alloc(&doc->arena, sizeof *sum);
        sum->key = whole;
        sum->name = mpr_frame_named(&doc->arena, MPR_FRAME_LABEL, whole);
        sum->before = mpr_saturating_signed(g->before);
        sum->after = mpr_saturating_signed(g->after);
        *line = line_of(doc, sum, by);
    }
    const size_t lines = first + lines_of(doc, g, by, line + first);
    for (size_t i = 0; i < lines; i++) {
        row[i] = (struct mpr_growth_row){ .path = line[i].row.path,
                                          .before = line[i].of_run[0],
                                          .after = line[i].of_run[1],
                                          .estimated = line[i].row.estimated };
        note[i] = mpr_report_siblings(doc, line[i].sibling_least, line[i].sibling_most);
    }
    mpr_doc_rows(doc, growth_columns, row, lines, .only = MPR_FOR_PEOPLE, .top = ROWS + first,
                 .estimated = estimated, .by = by, .lines = { .siblings = true }, .line = line,
                 .note = note);
}

const struct mpr_grown_line *mpr_report_grown(struct mpr_document *doc, const struct mpr_growth *g,
                                              enum mpr_group by, size_t *lines)
{
    struct mpr_line *line = mpr_arena_alloc(&doc->arena, (g->rows + 1) * sizeof *line);
    struct mpr_grown_line *grown = mpr_arena_alloc(&doc->arena, (g->rows + 1) * sizeof *grown);
    *lines = g->valid ? lines_of(doc, g, by, line) : 0;
    for (size_t i = 0; i < *lines; i++) {
        const struct mpr_line *l = &line[i];
        grown[i] = (struct mpr_grown_line){ l->row.path.depth
                                                ? mpr_report_call_words(doc, l->row.path, l->caller)
                                                : mpr_group_empty_path(by),
                                            l->of_run[0], l->of_run[1], l->row.estimated };
    }
    return grown;
}

struct mpr_most_grown mpr_report_most_grown(struct mpr_document *doc, const struct mpr_growth *g,
                                            enum mpr_group by)
{
    size_t lines;
    const struct mpr_grown_line *line = mpr_report_grown(doc, g, by, &lines);
    for (size_t i = 0; i < lines; i++) {
        const int64_t bytes = mpr_signed_sub(line[i].after, line[i].before);
        if (bytes > 0)
            return (struct mpr_most_grown){ line[i].name, (uint64_t)bytes, line[i].estimated };
    }
    return (struct mpr_most_grown){ NULL, 0, false };
}
