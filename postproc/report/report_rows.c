#include "report_rows.h"

#include <string.h>

#include "naming.h"
#include "reports.h"
#include "subtree.h"

struct shown {
    struct mpr_line line;
    const char *note;
};

/* ---- columns */

#define OF_ROW(member) MPR_FIELD(shown, line.row.member)

static struct mpr_value path(const void *row, const void *context)
{
    const struct shown *s = row;
    (void)context;
    struct mpr_value v = mpr_value_path(s->line.row.path);
    v.told = true;
    v.caller = s->line.caller;
    return v;
}

/* Of several rows the largest one's own peak, or what all held at the peak: the line's own was no
 * lower. */
static struct mpr_value own_peak(const void *row, const void *context)
{
    const struct shown *s = row;
    (void)context;
    struct mpr_value v = mpr_value_number(MPR_BYTES, s->line.row.own_peak);
    v.at_least = s->line.own_peaks > s->line.row.own_peak;
    return v;
}

/* One standard error of the bytes. */
static struct mpr_value error(const void *row, const void *context)
{
    const struct shown *s = row;
    (void)context;
    return s->line.row.variance > 0
               ? mpr_value_number(MPR_BYTES, mpr_row_error(s->line.row.variance))
               : mpr_value_absent;
}

enum { PATH, BYTES, ERROR, SHARE, BLOCKS, END, EVER, ALLOCS, NOTE, COLUMNS };

// clang-format off
static const struct mpr_column columns[COLUMNS] = {
    [PATH] = { .title = "path", .type = MPR_PATH, .get = path },
    [BYTES] = { .type = MPR_BYTES, OF_ROW(bytes), .sums = true, .estimate = true },
    [ERROR] = { .title = "+-", .type = MPR_BYTES, .get = error, .spare = 3 },
    [SHARE] = { .title = "share", .type = MPR_SHARE, OF_ROW(bytes) },
    [BLOCKS] = { .title = "blocks", .type = MPR_COUNT, OF_ROW(blocks), .estimate = true },
    [END] = { .title = "at end", .type = MPR_BYTES, OF_ROW(end_bytes), .sums = true,
              .estimate = true },
    [EVER] = { .title = "own peak", .type = MPR_BYTES, .get = own_peak, .estimate = true,
               .bound = true, .spare = 2 },
    [ALLOCS] = { .title = "allocs", .type = MPR_COUNT, OF_ROW(allocations), .estimate = true,
                 .bound = true, .width = 11, .spare = 1, .of_rest = true },
    [NOTE] = { .title = "", .type = MPR_TEXT, MPR_FIELD(shown, note) },
};
// clang-format on

static bool has_errors(const struct mpr_rows *r)
{
    for (size_t i = 0; i < r->rows; i++)
        if (r->row[i].variance > 0) return true;
    return false;
}

/* The columns of this table. */
static const struct mpr_column *columns_of(struct mpr_document *doc, const struct mpr_rows *r)
{
    struct mpr_column *own = mpr_arena_alloc(&doc->arena, sizeof columns);
    memcpy(own, columns, sizeof columns);
    own[BYTES].title = r->bytes;
    if (!doc->naming || doc->naming->order != MPR_ORDER_END) own[END].title = NULL;
    if (!r->ever) own[EVER].title = own[ALLOCS].title = NULL;
    if (!has_errors(r)) own[ERROR].title = NULL;
    if (r->changes) own[BLOCKS].unless = MPR_ABSENT_AT_0;
    if (doc->naming && doc->naming->order == MPR_ORDER_OWN) own[EVER].spare = 0;
    if (doc->naming && doc->naming->order == MPR_ORDER_ALLOCS) own[ALLOCS].spare = 0;
    if (!own[EVER].spare || !own[ALLOCS].spare) own[SHARE].spare = 3;
    return own;
}

/* ---- rows */

const char *mpr_report_siblings(struct mpr_document *doc, uint64_t smallest, uint64_t largest)
{
    if (!largest) return "";
    const char *least = mpr_doc_size(doc, smallest), *most = mpr_doc_size(doc, largest);
    return strcmp(least, most) == 0
               ? mpr_arena_format(&doc->arena, "(siblings %s)", most)
               : mpr_arena_format(&doc->arena, "(siblings %s to %s)", least, most);
}

#define OF_SUBTREE(member) MPR_FIELD(mpr_subtree, member)

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
    enum { TOLD = 3 };
    size_t modules;
    const struct mpr_subtree *m = mpr_subtrees(&doc->arena, row, rows, whole, &modules);
    if (!modules) return;
    mpr_doc_table(doc, &(struct mpr_table){ .key = "module_outliers",
                                            .only = MPR_IN_JSON,
                                            MPR_COLUMNS(module_columns),
                                            MPR_ROWS(m, modules),
                                            .all = MPR_IN_JSON });
    for (size_t i = 0; i < modules && i < TOLD; i++)
        mpr_doc_line(doc, "  [%s] in all: %s%s  %s", m[i].module, m[i].estimated ? "~" : "",
                     mpr_doc_size(doc, m[i].bytes),
                     mpr_report_siblings(doc, m[i].sibling_least, m[i].sibling_most));
}

static const char *note(struct mpr_document *doc, const struct mpr_rows *r,
                        const struct mpr_line *l)
{
    const char *apart = mpr_report_siblings(doc, l->sibling_least, l->sibling_most);
    if (!r->inherited || !l->row.inherited) return apart;
    return *apart ? mpr_arena_format(&doc->arena, "inherited  %s", apart) : "inherited";
}

static bool estimated(const void *row) { return ((const struct shown *)row)->line.row.estimated; }

const struct mpr_naming *mpr_report_naming(const struct mpr_document *doc)
{
    static const struct mpr_naming as_they_are = { .unfold = true };
    return doc->naming ? doc->naming : &as_they_are;
}

void mpr_report_rows(struct mpr_document *doc, const struct mpr_rows *r)
{
    size_t lines, live;
    const struct mpr_line *line = mpr_naming_lines(&doc->arena, mpr_report_naming(doc), r->by,
                                                   r->row, r->rows, &lines, &live);
    struct shown *shown = mpr_arena_alloc(&doc->arena, lines * sizeof *shown);
    for (size_t i = 0; i < lines; i++) shown[i] = (struct shown){ line[i], note(doc, r, &line[i]) };
    const char *heading =
        r->heading ? r->heading
                   : mpr_arena_format(&doc->arena, "%s by %s", r->of, mpr_group_word(r->by));
    mpr_doc_table(doc, &(struct mpr_table){ .title = heading,
                                            .only = MPR_FOR_PEOPLE,
                                            .column = columns_of(doc, r),
                                            .columns = COLUMNS,
                                            MPR_ROWS(shown, lines),
                                            .idle = r->whole ? lines - live : 0,
                                            .whole = r->whole,
                                            .top = r->top,
                                            .bounds = r->bounds,
                                            .estimated = estimated,
                                            .by = r->by });
}

static struct mpr_line told_line(const void *row, const struct mpr_site_context *context)
{
    return mpr_naming_line(&context->doc->arena, mpr_report_naming(context->doc), context->by, row);
}

struct mpr_value mpr_report_site(const void *row, const void *context)
{
    const struct mpr_line line = told_line(row, context);
    return mpr_value_path(line.row.path);
}

struct mpr_value mpr_report_site_caller(const void *row, const void *context)
{
    const struct mpr_line line = told_line(row, context);
    return *line.caller ? mpr_value_text(line.caller) : mpr_value_absent;
}

const char *mpr_report_telling(struct mpr_document *doc, struct mpr_path path)
{
    const struct mpr_naming *naming = doc->naming;
    if (!naming || !naming->telling) return mpr_doc_path(doc, path);
    const struct mpr_told told = mpr_telling_of(naming->telling, &doc->arena, path, false);
    return mpr_doc_path(doc, told.path);
}
