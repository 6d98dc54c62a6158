/* A table for a terminal: columns of fixed width, with text at their left and numbers at their
 * right.
 *
 * Blanks are written just before the next text, so no line ends in one.  A text that is too wide
 * for its column is followed by one blank, and later columns keep their positions if possible.  If
 * the terminal is too narrow, spare columns are omitted, paths are cut, and notes continue on the
 * next line. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "cells.h"
#include "naming.h"
#include "text.h"
#include "utf8.h"

/* Indentation of a row, and of text below it; the gap between columns; the minimum width of a note.
 */
enum { INDENT = 2, BELOW = 4, GAP = 2, MIN_NOTE = 40 };
/* Limits of a path's width: MAX_PATH on a terminal, MAX_WHOLE otherwise.  PATHS: columns of paths
 * in one table. */
enum { MIN_PATH = 18, USUAL_PATH = 40, MAX_PATH = 100, MAX_WHOLE = 200, PATHS = 4 };

/* A column whose texts are cut, all together, so that no two look the same. */
struct cuts {
    struct mpr_arena arena; /* frames of shortened paths */
    const struct mpr_column *column;
    struct mpr_value *value; /* by row: a path, or a text */
    char **text;             /* by row, or NULL if the column is omitted */
    int longest, width;      /* widths of the widest path and of the column */
};

/* The line that is being written. */
struct line {
    FILE *out;
    const struct mpr_table *table;
    const struct mpr_style *style;
    size_t rows; /* number of shown rows */
    int indent;
    int end, column; /* the end of the text, and the beginning of the next column */
    int narrow;      /* columns that are spare up to this number are omitted */
    char **text;     /* by row and column: the cell, escaped, or NULL for a path */
    int *number;     /* by column: the width of its widest number */
    struct cuts cuts[PATHS];
};

static void put(struct line *l, int at, const char *text, int min_gap)
{
    const int gap = at - l->end > min_gap || !l->end ? at - l->end : min_gap;
    if (!*text) return;
    fprintf(l->out, "%*s%s", gap, "", text);
    l->end += gap + (int)mpr_utf8_columns(text);
}

static void break_line(struct line *l)
{
    fputc('\n', l->out);
    l->end = 0;
}

/* Returns the text of a cell, or NULL for a path. */
static const char *text_of(const struct line *l, size_t row, const struct mpr_column *c)
{
    return l->text[row * l->table->columns + (size_t)(c - l->table->column)];
}

/* ---- columns */

static bool is_left(const struct mpr_column *c)
{
    return c->type == MPR_PATH || c->type == MPR_TEXT || c->type == MPR_WORD ||
           c->type == MPR_FLAG || c->type == MPR_NUMBERS;
}

static bool is_cut(const struct mpr_column *c)
{
    return c->type == MPR_PATH || c->width == MPR_WIDE;
}

/* A note is as wide as its text, so it is the last column of a line. */
static bool is_note(const struct mpr_column *c)
{
    return c->type == MPR_TEXT && !c->width && !c->below;
}

static bool is_shown(const struct line *l, const struct mpr_column *c)
{
    return mpr_column_is_in(c, MPR_IN_TEXT) && (!c->spare || c->spare > l->narrow);
}

/* Returns the first shown column from `from` on, or NULL. */
static const struct mpr_column *next_column(const struct line *l, const struct mpr_column *from)
{
    for (; from < l->table->column + l->table->columns; from++)
        if (is_shown(l, from)) return from;
    return NULL;
}

static const struct mpr_column *first_column(const struct line *l)
{
    return next_column(l, l->table->column);
}

static const struct cuts *cuts_of(const struct line *l, const struct mpr_column *c)
{
    for (const struct cuts *k = l->cuts; k < l->cuts + PATHS; k++)
        if (k->column == c) return k;
    return NULL;
}

static int width_of(const struct line *l, const struct mpr_column *c)
{
    static const int usual[] = {
        [MPR_BYTES] = 12,      [MPR_SIGNED] = 12, [MPR_CHANGE] = 12,  [MPR_COUNT] = 10,
        [MPR_TIME] = 14,       [MPR_SPAN] = 10,   [MPR_ADDRESS] = 14, [MPR_SHARE] = 9,
        [MPR_PATH] = MPR_WIDE, [MPR_NUMBERS] = 0
    };
    const int width = c->width ? c->width : usual[c->type];
    const int number = l->number[c - l->table->column];
    const struct cuts *cuts = cuts_of(l, c);
    if (cuts) return cuts->width;
    if (width == MPR_WIDE) return USUAL_PATH;
    if (c->type == MPR_TIME && l->table->tick && l->table->tick < 1000000)
        return width + (int)strlen("000000");
    return width > number ? width : number;
}

/* Returns the width of the lead, or of the gap, before the column. */
static int lead_width(const struct mpr_column *c)
{
    return c->lead ? (int)mpr_utf8_columns(c->lead) : is_left(c) ? GAP : 0;
}

/* Returns the position of a text in column c, which begins at `column`. */
static int text_begin(const struct line *l, const struct mpr_column *c, int column,
                      const char *text)
{
    return is_left(c) ? column : column + width_of(l, c) - (int)mpr_utf8_columns(text);
}

/* Writes a text in the next column. */
static void align(struct line *l, const struct mpr_column *c, const char *text, bool first)
{
    if (!first) l->column += lead_width(c);
    put(l, text_begin(l, c, l->column, text), text, c->lead ? 0 : is_left(c) ? GAP : 1);
    l->column += width_of(l, c);
}

/* ---- cells */

/* Returns the text of a cell, escaped; the caller frees it. */
static char *cell_text(const struct mpr_table *t, const struct mpr_value *v, bool estimated)
{
    static const struct mpr_cell_style plain = { mpr_utf8_write_escaped, " > " };
    struct mpr_words words;
    const char *number = mpr_cell_number(&words, t, v, estimated);
    char *text;
    size_t bytes;
    if (number) return mpr_text_copy(number);
    FILE *out = mpr_text_open(&text, &bytes);
    mpr_cell_write(out, &plain, t, v, estimated);
    mpr_text_close(out);
    return text;
}

/* Writes a text that wraps at column `at`, or further left if there is too little room. */
static void wrapped(struct line *l, int at, const char *text, int min_gap)
{
    const int room = l->style->width - at;
    if (!*text) return;
    if (l->style->width && (int)mpr_utf8_columns(text) > room && room < MIN_NOTE) {
        if (l->end) break_line(l);
        at = BELOW;
    }
    struct mpr_wrap w = { l->out, (size_t)l->style->width, (size_t)at, (size_t)at };
    fprintf(l->out, "%*s", at - l->end > min_gap || !l->end ? at - l->end : min_gap, "");
    mpr_text_wrap(&w, text);
    l->end = (int)w.column;
}

static void cell(struct line *l, const struct mpr_column *c, const char *text, bool first)
{
    if (!first && c->lead) put(l, l->column, c->lead, 0);
    if (is_note(c)) {
        wrapped(l, l->column + (first ? 0 : lead_width(c)), text, c->lead ? 0 : GAP);
    } else if (l->style->width && is_left(c) && c->width > 0) {
        char *cut = mpr_snip(text, NULL, (size_t)c->width, NULL);
        align(l, c, cut, first);
        free(cut);
    } else align(l, c, text, first);
}

/* ---- lines */

/* Writes a text instead of the first column.  If there is then no room for `next`, the text of the
 * second column, the line ends.  With NULL the second column may begin anywhere. */
static void label(struct line *l, const char *text, int at, const char *next)
{
    const struct mpr_column *first = first_column(l), *second = next_column(l, first + 1);
    put(l, at, text, 0);
    l->column = l->indent + width_of(l, first);
    if (!l->style->width || !second || second->below) return;
    const int begin =
        next ? text_begin(l, second, l->column + lead_width(second), next) : l->column;
    if (l->end >= begin && !(next && !*next)) break_line(l);
}

/* Omits the title of a note if there is no room for it. */
static void heading(struct line *l)
{
    const struct mpr_column *first = first_column(l), *second = next_column(l, first + 1);
    fputc('\n', l->out);
    mpr_text_tone(l->out, l->style, MPR_FAINT);
    label(l, l->table->title, 0, second ? second->title : "");
    for (const struct mpr_column *c = first; (c = next_column(l, c + 1));) {
        const int end = l->column + lead_width(c) + (int)mpr_utf8_columns(c->title);
        if (c->below || (l->style->width && is_note(c) && end > l->style->width)) continue;
        align(l, c, c->title, false);
    }
    mpr_text_tone(l->out, l->style, MPR_PLAIN);
    break_line(l);
}

static void one_row(struct line *l, size_t i)
{
    const struct mpr_column *const first = first_column(l);
    l->column = l->indent;
    for (const struct mpr_column *c = first; c; c = next_column(l, c + 1)) {
        const struct cuts *cuts = cuts_of(l, c);
        if (c->below) continue;
        if (!cuts) {
            cell(l, c, text_of(l, i, c), c == first);
            continue;
        }
        if (c != first && c->lead) put(l, l->column, c->lead, 0);
        align(l, c, cuts->text[i], c == first);
        /* Without a terminal's width, a path may be too long: the columns after it are on the next
         * line. */
        const struct mpr_column *next = next_column(l, c + 1);
        if (!l->style->width && next && !next->below && l->end > l->column) break_line(l);
    }
    break_line(l);
    for (const struct mpr_column *c = first; c; c = next_column(l, c + 1)) {
        if (!c->below) continue;
        wrapped(l, BELOW, text_of(l, i, c), 0);
        break_line(l);
    }
}

/* Writes the sums of all columns, each below its column. */
static void sum_row(struct line *l, const char *name, size_t from)
{
    label(l, name, l->indent, NULL);
    for (const struct mpr_column *c = first_column(l); (c = next_column(l, c + 1));) {
        const struct mpr_value sum =
            c->sums ? mpr_table_sum(l->table, c, from, MPR_IN_TEXT) : mpr_value_absent;
        char *text = cell_text(l->table, &sum, mpr_cell_estimated(l->table, c, from, MPR_IN_TEXT));
        if (!c->below) cell(l, c, text, false);
        free(text);
    }
    break_line(l);
}

/* Writes the sums of the omitted rows: as a row if there are several sums, else as a sentence, "(3
 * more, 1.00 MiB, 182 allocs)". */
static void write_omitted(struct line *l)
{
    const struct mpr_table *t = l->table;
    struct mpr_words words;
    if (!mpr_cell_rest(&words, t, l->rows, MPR_IN_TEXT)) return;
    if (!t->total && mpr_cell_sums(t, MPR_IN_TEXT) > 1) {
        sum_row(l, words.text, l->rows);
        return;
    }
    fprintf(l->out, "%*s%.*s", INDENT, "", (int)strlen(words.text) - 1, words.text);
    for (const struct mpr_column *c = first_column(l); c; c = next_column(l, c + 1)) {
        if (!c->of_rest) continue;
        const struct mpr_value sum = mpr_table_sum(t, c, l->rows, MPR_IN_TEXT);
        char *text = cell_text(t, &sum, mpr_cell_estimated(t, c, l->rows, MPR_IN_TEXT));
        const size_t title = strlen(c->title) - (strcmp(text, "1") == 0); /* "1 alloc" */
        fprintf(l->out, ", %s %.*s", text, (int)title, c->title);
        free(text);
    }
    fputs(")\n", l->out);
}

/* ---- widths */

static int clamp(int min, int width, int max)
{
    return width < min ? min : width > max ? max : width;
}

/* Fills the texts of all cells, and the widths of numbers, which are never cut and may be wider
 * than usual ("~-548.85 KiB").  A number after another number, and bytes after a path, also need a
 * blank.
 */
static void fill_cells(struct line *l)
{
    const struct mpr_table *t = l->table;
    const struct mpr_column *before = NULL;
    l->number = mpr_alloc(t->columns, sizeof *l->number);
    l->text = mpr_alloc(l->rows * t->columns, sizeof *l->text);
    int cut = 0; /* columns that gather_cuts will cut */
    for (const struct mpr_column *c = first_column(l); c; before = c, c = next_column(l, c + 1)) {
        const size_t at = (size_t)(c - t->column);
        const int blank = !c->lead && before && (!is_left(before) || c->type == MPR_BYTES);
        const bool may_be_wider = before && !is_left(c) && (blank || c->lead);
        const bool is_cut_later = is_cut(c) && !c->below && cut++ < PATHS;
        for (size_t i = 0; i < l->rows; i++) {
            const void *row = mpr_table_row(t, i, MPR_IN_TEXT);
            const struct mpr_value v = mpr_table_cell(t, c, row);
            if (is_cut_later && v.type == MPR_PATH && v.state == MPR_KNOWN && v.path.depth)
                continue;
            char *text = cell_text(t, &v, c->estimate && t->estimated && t->estimated(row));
            const int width = may_be_wider ? (int)mpr_utf8_columns(text) + blank : 0;
            if (width > l->number[at]) l->number[at] = width;
            l->text[i * t->columns + at] = text;
        }
    }
}

/* Returns the width that a cut column gets before notes and other columns get any. */
static int needed_width(const struct cuts *k)
{
    return clamp(MIN_PATH, k->longest, k->column->width > 0 ? k->column->width : USUAL_PATH);
}

/* Returns the width of all columns except notes.  @needed: include the needed width of cut columns.
 */
static int columns_width(const struct line *l, bool needed)
{
    const struct mpr_column *const first = first_column(l);
    int width = l->indent;
    for (const struct mpr_column *c = first; c; c = next_column(l, c + 1)) {
        const struct cuts *cuts = cuts_of(l, c);
        if (c->below || is_note(c)) continue;
        if (c != first) width += lead_width(c);
        width += !is_cut(c) ? width_of(l, c) : needed && cuts ? needed_width(cuts) : 0;
    }
    return width;
}

/* Returns the width of the widest note or its title.  @beside: only of notes that are more
 * important than spare columns. */
static int notes_width(const struct line *l, bool beside)
{
    int max = 0;
    for (const struct mpr_column *c = first_column(l); c; c = next_column(l, c + 1)) {
        if (!is_note(c) || (beside && !c->beside)) continue;
        int width = *c->title ? lead_width(c) + (int)mpr_utf8_columns(c->title) : 0;
        if (width > max) max = width;
        for (size_t i = 0; i < l->rows; i++) {
            const char *text = text_of(l, i, c);
            width = *text ? lead_width(c) + (int)mpr_utf8_columns(text) : 0;
            if (width > max) max = width;
        }
    }
    return max;
}

/* ---- paths */

static struct cuts gather_cuts(const struct line *l, const struct mpr_column *c)
{
    struct cuts k = { .column = c, .value = mpr_alloc(l->rows, sizeof *k.value) };
    for (size_t i = 0; i < l->rows; i++)
        k.value[i] = mpr_table_cell(l->table, c, mpr_table_row(l->table, i, MPR_IN_TEXT));
    if (l->style->naming && l->style->naming->user_frames)
        mpr_distinct_paths(&k.arena, l->style->naming->user_frames, l->table->by, k.value, l->rows);
    for (size_t i = 0; i < l->rows; i++) {
        if (text_of(l, i, c)) k.value[i] = mpr_value_text(text_of(l, i, c));
        const int width = (int)mpr_full_width(&k.value[i]);
        if (width > k.longest) k.longest = width;
    }
    return k;
}

/* Decides which columns are shown and how wide they are, and cuts the paths. */
static void cut_paths(struct line *l)
{
    int gathered = 0, paths = 0, max_spare = 0;
    for (const struct mpr_column *c = first_column(l); c && gathered < PATHS;
         c = next_column(l, c + 1))
        if (is_cut(c) && !c->below) l->cuts[gathered++] = gather_cuts(l, c);
    for (size_t i = 0; i < l->table->columns; i++)
        if (l->table->column[i].spare > max_spare) max_spare = l->table->column[i].spare;
    while (l->style->width && l->narrow < max_spare &&
           columns_width(l, true) + notes_width(l, true) > l->style->width)
        l->narrow++;
    for (int i = 0; i < gathered; i++) paths += is_shown(l, l->cuts[i].column);
    for (struct cuts *k = l->cuts; k < l->cuts + gathered; k++) {
        if (!is_shown(l, k->column)) continue;
        const int usual = k->column->width > 0 ? k->column->width : USUAL_PATH;
        /* Paths get all the room, so that the columns of a report's tables are aligned.  Notes get
         * room only if paths still have the needed width. */
        const int room = l->style->width - columns_width(l, false), notes = notes_width(l, false);
        const bool has_both = room - notes >= needed_width(k) * paths;
        k->width = l->style->width
                       ? clamp(MIN_PATH, (has_both ? room - notes : room) / paths, MAX_PATH)
                       : clamp(usual, k->longest, MAX_WHOLE);
        k->text =
            mpr_cut_paths(k->value, l->rows, l->style->width ? (size_t)k->width : MPR_CUT_FULL);
    }
}

void mpr_text_table(FILE *out, const struct mpr_table *t, const struct mpr_style *style)
{
    struct line l = { .out = out, .table = t, .style = style, .indent = t->flush ? 0 : INDENT };
    l.rows = mpr_table_shown(t, style->top, MPR_IN_TEXT);
    if (!t->rows) return;
    fill_cells(&l);
    cut_paths(&l);
    if (t->title) heading(&l);
    for (size_t i = 0; i < l.rows; i++) one_row(&l, i);
    if (l.rows < t->rows && !t->partial) write_omitted(&l);
    if (t->total) sum_row(&l, t->total, 0);
    for (struct cuts *k = l.cuts; k < l.cuts + PATHS && k->column; k++) {
        for (size_t i = 0; k->text && i < l.rows; i++) free(k->text[i]);
        free(k->value);
        free(k->text);
        mpr_arena_free(&k->arena);
    }
    for (size_t i = 0; i < l.rows * t->columns; i++) free(l.text[i]);
    free(l.text);
    free(l.number);
}
