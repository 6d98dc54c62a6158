/* The values of a table, and its view for people: columns in their order, and rows merged to
 * lines. */
#include "document.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "amount.h"
#include "heap_names.h"
#include "naming.h"
#include "report_rows.h"
#include "utf8.h"

/* ---- columns */

bool mpr_column_is_in(const struct mpr_column *c, enum mpr_format format)
{
    const char *name = format & MPR_FOR_PEOPLE ? c->title : c->key;
    return name && (!c->only || c->only & format);
}

bool mpr_column_has_sum(const struct mpr_column *c, enum mpr_format format)
{
    return c->sums && (!c->sums_in || c->sums_in & format) && mpr_column_is_in(c, format);
}

static struct mpr_value member(const struct mpr_column *c, const void *base)
{
    const void *at = (const char *)base + c->at;
    struct mpr_value v = { .type = c->type };
    switch (c->c_type) {
    case MPR_AS_U64: v.number = *(const uint64_t *)at; break;
    case MPR_AS_U32: v.number = *(const uint32_t *)at; break;
    case MPR_AS_I64: v.amount = *(const int64_t *)at; break;
    case MPR_AS_BOOL: v.number = *(const bool *)at; break;
    case MPR_AS_HEAP: v.text = mpr_heap_name(*(const uint8_t *)at); break;
    case MPR_AS_TEXT: v.text = *(const char *const *)at; break;
    case MPR_AS_TEXTS:
        v.texts = *(const char *const *const *)at;
        v.count = *(const size_t *)(const void *)((const char *)base + c->also);
        break;
    case MPR_AS_PATH: v.path = *(const struct mpr_path *)at; break;
    case MPR_AS_FRAME: return mpr_value_text((*(const struct mpr_frame *const *)at)->text);
    case MPR_AS_VARIANCE:
        v.number = mpr_variance_error(at);
        if (!v.number) v.state = MPR_ABSENT;
        break;
    case MPR_AS_SITE: /* line_value */
    case MPR_AS_SITE_CALLER:
    case MPR_AS_LINE_ERROR:
    case MPR_AS_LINE_NOTE: break;
    }
    return v;
}

static struct mpr_value field(const struct mpr_table *t, const struct mpr_column *c,
                              const void *row)
{
    struct mpr_value v = member(c, c->of_log ? t->log : c->of_context ? t->context : row);
    const bool is_text = c->c_type == MPR_AS_TEXT || c->c_type == MPR_AS_HEAP;
    const bool zero = is_text                    ? !v.text || !*v.text
                      : c->c_type == MPR_AS_PATH ? !v.path.frame
                                                 : !v.number;
    const bool max = v.number == UINT64_MAX;
    switch (c->unless) {
    case MPR_UNKNOWN_AT_0: v.state = zero ? MPR_UNKNOWN : MPR_KNOWN; break;
    case MPR_UNKNOWN_AT_MAX: v.state = max ? MPR_UNKNOWN : MPR_KNOWN; break;
    case MPR_ABSENT_AT_0: v.state = zero ? MPR_ABSENT : MPR_KNOWN; break;
    case MPR_ABSENT_AT_MAX: v.state = max ? MPR_ABSENT : MPR_KNOWN; break;
    case MPR_OMITTED_AT_0: v.omitted = zero; break;
    case MPR_ALWAYS: break;
    }
    if (c->words) v.text = c->words[v.number];
    else if (c->type == MPR_SHARE) {
        const double part = c->c_type == MPR_AS_I64 ? (double)v.amount : (double)v.number;
        v.percent = t->whole ? 100.0 * part / (double)t->whole : 0;
    }
    return v;
}

const struct mpr_naming *mpr_report_naming(const struct mpr_document *doc)
{
    static const struct mpr_naming unchanged = { .unfold = true };
    return doc->naming ? doc->naming : &unchanged;
}

static uint64_t error_of_line(const struct mpr_line *l)
{
    return mpr_variance_error(&l->row.variance);
}

static struct mpr_line site_of(const struct mpr_table *t, const void *row)
{
    return mpr_naming_line(&t->doc->arena, mpr_report_naming(t->doc), t->by, row);
}

static size_t index_of(const struct mpr_table *t, const void *row)
{
    return (size_t)((const char *)row - (const char *)t->row) / t->stride;
}

/* Sets *v and returns true if the value is that of the row's line. */
static bool line_value(const struct mpr_table *t, const struct mpr_column *c, const void *row,
                       struct mpr_value *v)
{
    if (c->c_type == MPR_AS_SITE) {
        *v = mpr_value_path(site_of(t, row).row.path);
        return true;
    }
    if (c->c_type == MPR_AS_SITE_CALLER) {
        *v = mpr_value_known_text(site_of(t, row).caller, MPR_ABSENT);
        return true;
    }
    if (!t->line || c->get) return false;
    const size_t i = index_of(t, row);
    const struct mpr_line *l = &t->line[i];
    if (c->type == MPR_PATH) {
        *v = mpr_value_shortened(l->row.path, l->caller);
    } else if (c->c_type == MPR_AS_LINE_NOTE) *v = mpr_value_text(t->note[i]);
    else if (c->c_type == MPR_AS_LINE_ERROR)
        *v = error_of_line(l) ? mpr_value_number(MPR_BYTES, error_of_line(l)) : mpr_value_absent;
    else if (c->merge == MPR_MERGE_PEAK) {
        *v = mpr_value_number(MPR_BYTES, l->row.own_peak);
        v->at_least = l->own_peaks > l->row.own_peak;
    } else return false;
    return true;
}

struct mpr_value mpr_table_cell(const struct mpr_table *t, const struct mpr_column *c,
                                const void *row)
{
    struct mpr_value v;
    if (!line_value(t, c, row, &v)) v = c->get ? c->get(row, t->context) : field(t, c, row);
    v.lasting = c->lasting;
    v.at_least |= (c->bound && t->bounds) ||
                  (c->estimate && t->line && t->line[index_of(t, row)].row.at_least);
    return v;
}

/* ---- tables */

bool mpr_table_is_in(const struct mpr_table *t, enum mpr_format format)
{
    if (format == MPR_IN_JSON && !t->key && t->shape != MPR_FACTS) return false;
    return t->only ? (t->only & format) != 0 : format != MPR_IN_CSV;
}

const void *mpr_table_row(const struct mpr_table *t, size_t i, enum mpr_format format)
{
    return (const char *)t->row +
           (t->order && format & MPR_FOR_PEOPLE ? t->order[i] : i) * t->stride;
}

size_t mpr_table_shown(const struct mpr_table *t, size_t top, enum mpr_format format)
{
    const bool people = format & MPR_FOR_PEOPLE;
    const size_t rows = people ? t->rows - t->idle : t->rows;
    if (!top && people) {
        top = t->top ? t->top : MPR_TOP;
        top += rows == top + 1 && rows == t->rows;
    }
    return !top || t->all & format || rows < top ? rows : top;
}

struct mpr_value mpr_table_sum(const struct mpr_table *t, const struct mpr_column *c, size_t from,
                               enum mpr_format format)
{
    struct mpr_value sum = { .type = c->type, .state = MPR_UNKNOWN };
    for (size_t i = from; i < t->rows; i++) {
        const struct mpr_value v = mpr_table_cell(t, c, mpr_table_row(t, i, format));
        if (v.state != MPR_KNOWN) continue;
        if (c->type == MPR_SIGNED || c->type == MPR_CHANGE)
            sum.amount = mpr_signed_add(sum.amount, v.amount);
        else sum.number += v.number;
        sum.state = MPR_KNOWN;
        sum.at_least |= v.at_least;
    }
    return sum;
}

/* ---- rows as lines */

static void merge_value(const struct mpr_column *c, void *line, const void *row)
{
    uint64_t *to = (void *)((char *)line + c->at);
    const uint64_t *from = (const void *)((const char *)row + c->at);
    const bool adds = c->type == MPR_BYTES || c->type == MPR_COUNT;
    if (c->c_type == MPR_AS_BOOL) *(bool *)to |= *(const bool *)from;
    if (c->c_type == MPR_AS_I64)
        *(int64_t *)to = mpr_signed_add(*(int64_t *)to, *(const int64_t *)from);
    if (c->c_type != MPR_AS_U64) return;
    switch (c->merge) {
    case MPR_MERGE_MAX: *to = *from > *to ? *from : *to; break;
    case MPR_MERGE_MIN: *to = *from < *to ? *from : *to; break;
    case MPR_MERGE_SQUARES: /* hypot needs glibc 2.35 */
        *to = (uint64_t)(sqrt((double)*to * (double)*to + (double)*from * (double)*from) + 0.5);
        break;
    case MPR_MERGE_DEFAULT:
        if (!adds) break;
        if (c->unless == MPR_UNKNOWN_AT_MAX && (*to == UINT64_MAX || *from == UINT64_MAX))
            *to = UINT64_MAX;
        else *to += *from;
        break;
    case MPR_MERGE_FIRST:
    case MPR_MERGE_PEAK: break;
    }
}

static bool is_member(const struct mpr_column *c)
{
    return !c->get && !c->of_context && !c->of_log;
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
        /* several columns may have the same member, which is merged once */
        const struct mpr_column *c = &t->column[i];
        bool merged = !is_member(c) || (!t->lines.row_of && c->at < sizeof(struct mpr_row));
        for (size_t k = 0; k < i; k++)
            merged |= is_member(&t->column[k]) && t->column[k].at == c->at;
        for (size_t k = 1; k < rows && !merged; k++) merge_value(c, out, row[k]);
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

static bool is_estimated(const void *row) { return ((const struct mpr_row *)row)->estimated; }

/* Replaces the rows by lines, which have the same type. */
static void merge(struct mpr_document *doc, struct mpr_table *t)
{
    const struct mpr_naming *naming = mpr_report_naming(doc);
    const struct mpr_table rows = *t;
    const struct mpr_row *row = t->row;
    size_t lines, live;
    struct mpr_line *line;
    if (t->lines.row_of || t->stride != sizeof *row) {
        struct mpr_row *of = mpr_arena_alloc(&doc->arena, t->rows * sizeof *of);
        for (size_t i = 0; i < t->rows; i++) {
            const void *from = (const char *)t->row + i * t->stride;
            of[i] = t->lines.row_of ? t->lines.row_of(from) : *(const struct mpr_row *)from;
        }
        row = of;
    }
    if (t->lines.empty) {
        line = mpr_naming_merge(&doc->arena, naming, t->by, row, t->rows, &lines);
        live = lines = mpr_naming_group(&doc->arena, naming, t->by, line, lines);
        mpr_lines_sort(line, lines, naming->order);
    } else line = mpr_naming_lines(&doc->arena, naming, t->by, row, t->rows, &lines, &live);
    char *out = mpr_arena_alloc(&doc->arena, lines * t->stride);
    const char **note = mpr_arena_alloc(&doc->arena, lines * sizeof *note);
    for (size_t i = 0; i < lines; i++) {
        merge_rows(doc, &rows, &line[i], row, out + i * t->stride);
        note[i] = !t->lines.siblings
                      ? ""
                      : mpr_report_siblings(doc, line[i].sibling_least, line[i].sibling_most);
        if (t->lines.inherited && line[i].row.inherited)
            note[i] =
                *note[i] ? mpr_arena_format(&doc->arena, "inherited  %s", note[i]) : "inherited";
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

static bool has_any(const struct mpr_table *t, const struct mpr_column *c)
{
    for (size_t i = 0; i < t->rows; i++) {
        const struct mpr_value v = mpr_table_cell(t, c, mpr_table_row(t, i, MPR_IN_TEXT));
        if (v.state == MPR_KNOWN && (v.type == MPR_TEXT ? *v.text != 0 : v.number != 0))
            return true;
    }
    return false;
}

static struct mpr_column shown(const struct mpr_table *t, const struct mpr_column *c)
{
    struct mpr_column own = *c;
    if (c->shown.set) {
        own.type = c->shown.type;
        own.at = c->shown.at;
        own.c_type = c->shown.c_type;
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
    size_t at = list->count;
    for (size_t i = list->count; c->after && i-- > 0;)
        if (list->column[i].key && strcmp(list->column[i].key, c->after) == 0) at = i + 1;
    if (c->titled && t->lines.bytes_title) own.title = t->lines.bytes_title;
    if (c->sorted_by && c->sorted_by == order) own.spare = 0;
    own.sums = c->sums && (!c->sums_in || c->sums_in & MPR_FOR_PEOPLE);
    insert(list, at, own);
    bool errors = false;
    for (size_t i = 0; c->errors && t->line && i < t->rows; i++)
        errors |= error_of_line(&t->line[i]) != 0;
    if (errors)
        insert(list, ++at,
               (struct mpr_column){
                   .title = "+-", .type = MPR_BYTES, .c_type = MPR_AS_LINE_ERROR, .spare = 3 });
    if (!c->share) return;
    struct mpr_column share = { .title = "share",
                                .type = MPR_SHARE,
                                .at = c->at,
                                .c_type = c->c_type,
                                .spare = c->share == MPR_SHARE_FIRST ? 0 : c->share };
    if (!share.spare && (order == MPR_ORDER_OWN || order == MPR_ORDER_ALLOCS)) share.spare = 3;
    insert(list, ++at, share);
}

/* Puts the columns in order: first those without `after`, then the others. */
static void arrange(struct mpr_document *doc, struct mpr_table *t)
{
    const enum mpr_order order = mpr_report_naming(doc)->order;
    struct columns list = { mpr_arena_alloc(&doc->arena, (3 * t->columns + 1) * sizeof *t->column),
                            0 };
    for (int after = 0; after < 2; after++)
        for (const struct mpr_column *c = t->column; c < t->column + t->columns; c++) {
            if (!c->after != !after || !c->title || (c->only && !(c->only & MPR_FOR_PEOPLE)))
                continue;
            if ((!c->if_sorted || c->sorted_by == order) && (!c->if_any || has_any(t, c)))
                add_column(&list, t, c, order);
        }
    if (t->lines.siblings || t->lines.inherited)
        insert(&list, list.count,
               (struct mpr_column){ .title = "", .type = MPR_TEXT, .c_type = MPR_AS_LINE_NOTE });
    t->column = list.column;
    t->columns = list.count;
}

/* ---- the view */

/* Returns true if people see other rows or columns than programs do. */
static bool has_view(const struct mpr_table *t)
{
    for (const struct mpr_column *c = t->column; c < t->column + t->columns; c++)
        if (c->after || c->share || c->if_any || c->sorted_by || c->sums_in || c->shown.set)
            return true;
    return t->lines.merged;
}

static int by_row(const void *left, const void *right, void *table)
{
    const struct mpr_table *t = table;
    const char *row = t->row;
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    const int order = t->lines.compare(row + a * t->stride, row + b * t->stride);
    return order ? order : (a > b) - (a < b);
}

const struct mpr_table *mpr_table_view(struct mpr_document *doc, const struct mpr_table *table,
                                       unsigned only)
{
    if (table->shape == MPR_FACTS || !only || !has_view(table)) return NULL;
    struct mpr_table *view = mpr_arena_alloc(&doc->arena, sizeof *view);
    *view = *table;
    view->only = only;
    view->folded.bytes = NULL;
    if (view->lines.merged) merge(doc, view);
    if (view->lines.compare) {
        size_t *order = mpr_arena_alloc(&doc->arena, view->rows * sizeof *order);
        for (size_t i = 0; i < view->rows; i++) order[i] = i;
        if (view->rows) qsort_r(order, view->rows, sizeof *order, by_row, view);
        view->order = order;
    }
    arrange(doc, view);
    return view;
}
