/* A table for a terminal: columns of fixed width, text on their left side, numbers on their right. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "cells.h"
#include "text.h"
#include "text_document.h"
#include "utf8.h"

enum { INDENT = 2, BELOW = 4, GAP = 2 };     /* columns before a row, what stands below one, and text */

/* A line that is being written: where it ends, and where its next column begins.  Blanks are written before what stands behind them, so
 * that no line ends in one; what is too wide for its column is followed by one blank, and the columns behind it stand where they should. */
struct line { FILE *out; const struct mpr_table *table; const struct mpr_style *style; int end, column; };

static void put(struct line *l, int at, const char *text, int least)
{
    const int gap = at - l->end > least || !l->end ? at - l->end : least;
    if (!*text) return;
    fprintf(l->out, "%*s%s", gap, "", text);
    l->end += gap + (int)mpr_utf8_length(text);
}

static void end_line(struct line *l)
{
    fputc('\n', l->out);
    l->end = l->column = 0;
}

/* ---- columns */

static bool is_left(const struct mpr_column *c)
{
    return c->type == MPR_PATH || c->type == MPR_TEXT || c->type == MPR_WORD || c->type == MPR_FLAG || c->type == MPR_NUMBERS;
}

static int width_of(const struct line *l, const struct mpr_column *c)
{
    static const int usual[] = { [MPR_BYTES] = 12, [MPR_SIGNED] = 12, [MPR_CHANGE] = 12, [MPR_COUNT] = 10, [MPR_TIME] = 14,
                                 [MPR_ADDRESS] = 14, [MPR_SHARE] = 9, [MPR_PATH] = MPR_WIDE, [MPR_NUMBERS] = 0 };
    const int width = c->width ? c->width : usual[c->type];
    const bool finer = c->type == MPR_TIME && l->table->tick && l->table->tick < 1000000;
    if (width == MPR_WIDE) return l->style->path;
    return finer ? width + (int)strlen("000000") : width;
}

/* The column from `from` on that text has; NULL: none. */
static const struct mpr_column *next_column(const struct line *l, const struct mpr_column *from)
{
    for (; from < l->table->column + l->table->columns; from++)
        if (mpr_column_in(from, MPR_IN_TEXT)) return from;
    return NULL;
}

static int indent_of(const struct line *l) { return l->table->flush ? 0 : INDENT; }

static int lead_width(const struct mpr_column *c) { return c->lead ? (int)mpr_utf8_length(c->lead) : is_left(c) ? GAP : 0; }

/* The text in the next column. */
static void align(struct line *l, const struct mpr_column *c, const char *text, bool first)
{
    const int width = width_of(l, c);
    if (!first) l->column += lead_width(c);
    put(l, is_left(c) ? l->column : l->column + width - (int)mpr_utf8_length(text), text,
        c->lead ? 0 : is_left(c) ? GAP : 1);
    l->column += width;
}

/* ---- cells */

/* "0:1" */
static char *numbers(const struct mpr_value *v)
{
    struct mpr_number n;
    char *text = mpr_alloc(v->count + 1, sizeof n.text), *end = text;
    for (size_t i = 0; i < v->count; i++) end += sprintf(end, "%s%" PRIu64, i ? ":" : "", v->numbers[i]);
    return text;
}

static char *marked(const char *number, bool estimated)
{
    struct mpr_number n;
    snprintf(n.text, sizeof n.text, "%s%.38s", estimated ? "~" : "", number);
    return mpr_text_copy(n.text);
}

/* Harmless, and of a path what fits; the caller frees it. */
static char *cell_text(const struct mpr_table *t, const struct mpr_value *v, int width, bool estimated)
{
    struct mpr_number n;
    if (v->state != MPR_KNOWN) return mpr_text_copy(v->state == MPR_UNKNOWN ? "-" : "");
    if (v->type == MPR_TEXT || v->type == MPR_WORD) return mpr_text_harmless(v->text);
    if (v->type == MPR_NUMBERS) return numbers(v);
    if (v->type == MPR_PATH && !v->count && t->nowhere) return mpr_text_harmless(t->nowhere);
    if (v->type == MPR_PATH) return mpr_text_cut_path(v->path, v->count, width);
    return marked(mpr_cell_number(&n, t, v), estimated);
}

static void cell(struct line *l, const struct mpr_column *c, const struct mpr_value *v, bool first, bool estimated)
{
    char *text = cell_text(l->table, v, width_of(l, c), estimated && c->estimate);
    if (!first && c->lead) put(l, l->column, c->lead, 0);
    align(l, c, text, first);
    free(text);
}

/* ---- lines */

/* What stands in place of the first column. */
static void label(struct line *l, const char *text, int at)
{
    put(l, at, text, 0);
    l->column = indent_of(l) + width_of(l, next_column(l, l->table->column));
}

static void heading(struct line *l)
{
    const struct mpr_column *const first = next_column(l, l->table->column);
    fputc('\n', l->out);
    mpr_text_tone(l->out, l->style, MPR_FAINT);
    label(l, l->table->title, 0);
    for (const struct mpr_column *c = first; (c = next_column(l, c + 1));)
        if (!c->below) align(l, c, c->title, false);
    mpr_text_tone(l->out, l->style, MPR_PLAIN);
    end_line(l);
}

static void below(struct line *l, const void *row)
{
    for (const struct mpr_column *c = next_column(l, l->table->column); c; c = next_column(l, c + 1)) {
        if (!c->below) continue;
        const struct mpr_value v = mpr_table_cell(l->table, c, row);
        l->column = BELOW;
        cell(l, c, &v, true, false);
        end_line(l);
    }
}

static void one_row(struct line *l, const void *row)
{
    const struct mpr_table *t = l->table;
    const struct mpr_column *const first = next_column(l, t->column);
    const bool estimated = t->estimated && t->estimated(row);
    l->column = indent_of(l);
    for (const struct mpr_column *c = first; c; c = next_column(l, c + 1)) {
        if (c->below) continue;
        const struct mpr_value v = mpr_table_cell(t, c, row);
        cell(l, c, &v, c == first, estimated);
    }
    end_line(l);
    below(l, row);
}

/* ---- sums */

/* Each sum below its column. */
static void sum_row(struct line *l, const char *name, size_t from)
{
    label(l, name, indent_of(l));
    for (const struct mpr_column *c = next_column(l, l->table->column); (c = next_column(l, c + 1));) {
        const struct mpr_value sum = c->sums ? mpr_table_sum(l->table, c, from, MPR_IN_TEXT) : mpr_value_absent;
        if (!c->below) cell(l, c, &sum, false, false);
    }
    end_line(l);
}

/* What is left out; where several columns sum, their sums in their places. */
static void rest(struct line *l, size_t shown)
{
    const struct mpr_table *t = l->table;
    struct mpr_rest words;
    mpr_cell_rest(&words, t, shown, MPR_IN_TEXT);
    if (!t->total && mpr_cell_sums(t, MPR_IN_TEXT) > 1) sum_row(l, words.text, shown);
    else fprintf(l->out, "%*s%s\n", INDENT, "", words.text);
}

void mpr_text_table(FILE *out, const struct mpr_table *t, const struct mpr_style *style)
{
    struct line l = { .out = out, .table = t, .style = style };
    const size_t shown = mpr_table_shown(t, style->top, MPR_IN_TEXT);
    if (!t->rows) return;
    if (t->title) heading(&l);
    for (size_t i = 0; i < shown; i++) one_row(&l, mpr_table_row(t, i, MPR_IN_TEXT));
    if (shown < t->rows && !t->partial) rest(&l, shown);
    if (t->total) sum_row(&l, t->total, 0);
}
