/* A table as people see it: its columns in their order, and its rows merged to lines. */
#include "table_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "naming.h"
#include "report_rows.h"
#include "utf8.h"

/* ---- rows as lines */

static void merge_number(const struct mpr_column *c, uint64_t *to, uint64_t from)
{
    const bool adds = c->type == MPR_BYTES || c->type == MPR_COUNT;
    switch (c->merge) {
    case MPR_MERGE_MAX: *to = from > *to ? from : *to; return;
    case MPR_MERGE_MIN: *to = from < *to ? from : *to; return;
    case MPR_MERGE_SQUARES: /* hypot needs glibc 2.35 */
        *to = (uint64_t)(sqrt((double)*to * (double)*to + (double)from * (double)from) + 0.5);
        return;
    case MPR_MERGE_DEFAULT: break;
    case MPR_MERGE_FIRST:
    case MPR_MERGE_PEAK: return;
    }
    if (!adds) return;
    const bool unknown =
        c->unless == MPR_UNKNOWN_AT_MAX && (*to == UINT64_MAX || from == UINT64_MAX);
    *to = unknown ? UINT64_MAX : *to + from;
}

static void merge_value(const struct mpr_column *c, void *line, const void *row)
{
    void *to = (char *)line + c->at;
    const void *from = (const char *)row + c->at;
    if (c->held == MPR_AS_U64) merge_number(c, to, *(const uint64_t *)from);
    else if (c->held == MPR_AS_BOOL) *(bool *)to |= *(const bool *)from;
    else if (c->held == MPR_AS_I64)
        *(int64_t *)to = mpr_signed_add(*(int64_t *)to, *(const int64_t *)from);
}

/* Several columns may show one member, which is merged once. */
static bool is_merged(const struct mpr_table *t, size_t column)
{
    const struct mpr_column *c = &t->column[column];
    if (c->get || c->of_context || c->of_log) return false;
    if (!t->lines.row_of && c->at < sizeof(struct mpr_row)) return false;
    for (size_t i = 0; i < column; i++)
        if (t->column[i].at == c->at && !t->column[i].get && !t->column[i].of_context &&
            !t->column[i].of_log)
            return false;
    return true;
}

static void merge_rows(struct mpr_document *doc, const struct mpr_table *t,
                       const struct mpr_line *line, const struct mpr_row *first, char *out)
{
    const struct mpr_row_link *link = line->link;
    const void **row = mpr_arena_alloc(&doc->arena, line->rows * sizeof *row);
    size_t rows = 0;
    do row[rows++] = (const char *)t->row + (size_t)(link->row - first) * t->stride;
    while ((link = link->next) != line->link);
    memcpy(out, row[0], t->stride);
    for (size_t i = 0; rows > 1 && i < t->columns; i++) {
        if (!is_merged(t, i)) continue;
        for (size_t k = 1; k < rows; k++) merge_value(&t->column[i], out, row[k]);
    }
    if (!t->lines.row_of) memcpy(out, &line->row, sizeof line->row);
    if (rows > 1 && t->lines.join) t->lines.join(&doc->arena, out, row, rows);
}

const char *mpr_report_siblings(struct mpr_document *doc, uint64_t smallest, uint64_t largest)
{
    if (!largest) return "";
    const char *min = mpr_doc_size(doc, smallest), *max = mpr_doc_size(doc, largest);
    return strcmp(min, max) == 0 ? mpr_arena_format(&doc->arena, "(siblings %s)", max)
                                 : mpr_arena_format(&doc->arena, "(siblings %s to %s)", min, max);
}

static const char *note_of(struct mpr_document *doc, const struct mpr_lines *how,
                           const struct mpr_line *l)
{
    const char *siblings =
        how->siblings ? mpr_report_siblings(doc, l->sibling_least, l->sibling_most) : "";
    if (!how->inherited || !l->row.inherited) return siblings;
    return *siblings ? mpr_arena_format(&doc->arena, "inherited  %s", siblings) : "inherited";
}

const struct mpr_naming *mpr_report_naming(const struct mpr_document *doc)
{
    static const struct mpr_naming unchanged = { .unfold = true };
    return doc->naming ? doc->naming : &unchanged;
}

static const struct mpr_row *naming_rows(struct mpr_document *doc, const struct mpr_table *t)
{
    if (!t->lines.row_of && t->stride == sizeof(struct mpr_row)) return t->row;
    struct mpr_row *row = mpr_arena_alloc(&doc->arena, t->rows * sizeof *row);
    for (size_t i = 0; i < t->rows; i++) {
        const void *from = (const char *)t->row + i * t->stride;
        row[i] = t->lines.row_of ? t->lines.row_of(from) : *(const struct mpr_row *)from;
    }
    return row;
}

static bool is_estimated(const void *row) { return ((const struct mpr_row *)row)->estimated; }

struct sorted {
    const struct mpr_table *table;
    int (*compare)(const void *left, const void *right);
};

static int by_row(const void *left, const void *right, void *sorted)
{
    const struct sorted *s = sorted;
    const char *row = s->table->row;
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    const int order = s->compare(row + a * s->table->stride, row + b * s->table->stride);
    return order ? order : (a > b) - (a < b);
}

static const size_t *sorted_lines(struct mpr_document *doc, const struct mpr_table *t)
{
    struct sorted sorted = { t, t->lines.compare };
    size_t *order = mpr_arena_alloc(&doc->arena, t->rows * sizeof *order);
    for (size_t i = 0; i < t->rows; i++) order[i] = i;
    if (t->rows) qsort_r(order, t->rows, sizeof *order, by_row, &sorted);
    return order;
}

/* Replaces the rows by lines, each a row of the same type. */
static void merge(struct mpr_document *doc, struct mpr_table *t)
{
    const struct mpr_naming *naming = mpr_report_naming(doc);
    const struct mpr_row *row = naming_rows(doc, t);
    const struct mpr_table rows = *t;
    size_t lines, live;
    struct mpr_line *line;
    if (t->lines.empty) {
        line = mpr_naming_merge(&doc->arena, naming, t->by, row, t->rows, &lines);
        live = lines = mpr_naming_group(&doc->arena, naming, t->by, line, lines);
        mpr_lines_sort(line, lines, naming->order);
    } else line = mpr_naming_lines(&doc->arena, naming, t->by, row, t->rows, &lines, &live);
    char *out = mpr_arena_alloc(&doc->arena, lines * t->stride);
    const char **note = mpr_arena_alloc(&doc->arena, lines * sizeof *note);
    for (size_t i = 0; i < lines; i++) {
        merge_rows(doc, &rows, &line[i], row, out + i * t->stride);
        note[i] = note_of(doc, &t->lines, &line[i]);
    }
    t->row = out;
    t->rows = lines;
    t->line = line;
    t->note = note;
    if (t->whole) t->idle = lines - live;
    if (!t->estimated && !t->lines.row_of) t->estimated = is_estimated;
}

/* ---- columns */

struct columns {
    struct mpr_column *column;
    size_t count;
};

static void insert(struct columns *list, size_t at, struct mpr_column column)
{
    memmove(list->column + at + 1, list->column + at, (list->count++ - at) * sizeof *list->column);
    list->column[at] = column;
}

static size_t place_of(const struct columns *list, const char *after)
{
    for (size_t i = 0; after && i < list->count; i++)
        if (list->column[i].key && strcmp(list->column[i].key, after) == 0) return i + 1;
    return list->count;
}

static bool has_any(const struct mpr_table *t, const struct mpr_column *c)
{
    for (size_t i = 0; i < t->rows; i++) {
        const struct mpr_value v = mpr_table_cell(t, c, mpr_table_row(t, i, MPR_IN_TEXT));
        if (v.state == MPR_KNOWN && (v.type == MPR_TEXT ? *v.text != 0 : v.number != 0))
            return true;
    }
    return false;
}

static uint64_t error_of_line(const struct mpr_line *l)
{
    return mpr_variance_error(&l->row.variance);
}

static bool has_errors(const struct mpr_table *t)
{
    for (size_t i = 0; t->line && i < t->rows; i++)
        if (error_of_line(&t->line[i])) return true;
    return false;
}

static bool is_seen(const struct mpr_table *t, const struct mpr_column *c, enum mpr_order order)
{
    if (!c->title || (c->only && !(c->only & MPR_FOR_PEOPLE))) return false;
    return (!c->if_ranked || c->ranks == order) && (!c->if_any || has_any(t, c));
}

static struct mpr_column shown(const struct mpr_table *t, const struct mpr_column *c)
{
    struct mpr_column own = *c;
    if (c->shown.set) {
        own.type = c->shown.type;
        own.at = c->shown.at;
        own.held = c->shown.held;
        own.get = c->shown.get;
        own.words = NULL;
        own.unless = MPR_ALWAYS;
    }
    for (size_t i = 0; c->fits && i < t->rows; i++) {
        const void *row = mpr_table_row(t, i, MPR_IN_TEXT);
        const int width = (int)mpr_utf8_columns(mpr_table_cell(t, &own, row).text);
        if (width > own.width) own.width = width;
    }
    return own;
}

static void add_column(struct columns *list, const struct mpr_table *t, const struct mpr_column *c,
                       enum mpr_order order)
{
    struct mpr_column own = shown(t, c);
    size_t at = place_of(list, c->after);
    if (c->titled && t->lines.bytes_title) own.title = t->lines.bytes_title;
    if (c->ranks && c->ranks == order) own.spare = 0;
    own.sums = c->sums && (!c->sums_in || c->sums_in & MPR_FOR_PEOPLE);
    insert(list, at, own);
    if (c->errors && has_errors(t))
        insert(list, ++at,
               (struct mpr_column){
                   .title = "+-", .type = MPR_BYTES, .held = MPR_AS_LINE_ERROR, .spare = 3 });
    if (!c->share) return;
    struct mpr_column share = { .title = "share",
                                .type = MPR_SHARE,
                                .at = c->at,
                                .held = c->held,
                                .spare = c->share == MPR_SHARE_FIRST ? 0 : c->share };
    if (!share.spare && (order == MPR_ORDER_OWN || order == MPR_ORDER_ALLOCS)) share.spare = 3;
    insert(list, ++at, share);
}

/* Columns that follow another one are placed once that is. */
static void arrange(struct mpr_document *doc, struct mpr_table *t)
{
    const enum mpr_order order = mpr_report_naming(doc)->order;
    struct columns list = { mpr_arena_alloc(&doc->arena, (3 * t->columns + 1) * sizeof *t->column),
                            0 };
    for (int after = 0; after < 2; after++)
        for (size_t i = 0; i < t->columns; i++)
            if (!t->column[i].after == !after && is_seen(t, &t->column[i], order))
                add_column(&list, t, &t->column[i], order);
    if (t->lines.siblings || t->lines.inherited)
        insert(&list, list.count,
               (struct mpr_column){ .title = "", .type = MPR_TEXT, .held = MPR_AS_LINE_NOTE });
    t->column = list.column;
    t->columns = list.count;
}

/* ---- the view */

bool mpr_table_has_view(const struct mpr_table *t)
{
    for (size_t i = 0; i < t->columns; i++) {
        const struct mpr_column *c = &t->column[i];
        if (c->after || c->share || c->if_any || c->ranks || c->sums_in || c->shown.set)
            return true;
    }
    return t->lines.merged;
}

const struct mpr_table *mpr_table_view(struct mpr_document *doc, const struct mpr_table *table,
                                       unsigned only)
{
    struct mpr_table *view = mpr_arena_alloc(&doc->arena, sizeof *view);
    *view = *table;
    view->only = only;
    view->folded.bytes = NULL;
    if (view->lines.merged) merge(doc, view);
    if (view->lines.compare) view->order = sorted_lines(doc, view);
    arrange(doc, view);
    return view;
}

/* ---- values of lines */

static struct mpr_line site_of(const struct mpr_table *t, const void *row)
{
    return mpr_naming_line(&t->doc->arena, mpr_report_naming(t->doc), t->by, row);
}

static size_t index_of(const struct mpr_table *t, const void *row)
{
    return (size_t)((const char *)row - (const char *)t->row) / t->stride;
}

bool mpr_table_at_least(const struct mpr_table *t, const void *row)
{
    return t->line && t->line[index_of(t, row)].row.at_least;
}

bool mpr_table_line_value(const struct mpr_table *t, const struct mpr_column *c, const void *row,
                          struct mpr_value *v)
{
    if (c->held == MPR_AS_SITE) {
        *v = mpr_value_path(site_of(t, row).row.path);
        return true;
    }
    if (c->held == MPR_AS_SITE_CALLER) {
        *v = mpr_value_known_text(site_of(t, row).caller, MPR_ABSENT);
        return true;
    }
    if (!t->line || c->get) return false;
    const size_t i = index_of(t, row);
    const struct mpr_line *l = &t->line[i];
    if (c->type == MPR_PATH) {
        *v = mpr_value_shortened(l->row.path, l->caller);
    } else if (c->held == MPR_AS_LINE_NOTE) *v = mpr_value_text(t->note[i]);
    else if (c->held == MPR_AS_LINE_ERROR)
        *v = error_of_line(l) ? mpr_value_number(MPR_BYTES, error_of_line(l)) : mpr_value_absent;
    else if (c->merge == MPR_MERGE_PEAK) {
        *v = mpr_value_number(MPR_BYTES, l->row.own_peak);
        v->at_least = l->own_peaks > l->row.own_peak;
    } else return false;
    return true;
}
