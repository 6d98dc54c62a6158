/* A table for a terminal: columns of fixed width, text on their left side, numbers on their right.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "cells.h"
#include "cut.h"
#include "naming.h"
#include "text.h"
#include "text_document.h"
#include "told.h"
#include "utf8.h"
#include "wrap.h"

/* Columns before a row, what stands below one, and text; those that a note has at least. */
enum { INDENT = 2, BELOW = 4, GAP = 2, NOTE = 40 };
/* Columns of a path, where nothing tells the width up to WHOLE; how many of them a table has. */
enum { LEAST = 18, MOST = 100, WHOLE = 200, PATHS = 4 };

/* What a column of paths shows, row by row: no two of one table look alike, so all are cut
 * together. */
struct cuts {
    struct mpr_arena arena; /* owns the frames of shortened paths */
    const struct mpr_column *column;
    struct mpr_cut *path;
    char **text; /* NULL: the column is left out */
    size_t rows;
    int longest, width; /* of the paths; of the column */
};

/* A line that is being written: where it ends, and where its next column begins; narrow: columns up
 * to that `spare` are left out.  Blanks are written before what stands behind them, so that no line
 * ends in one; what is too wide for its column is followed by one blank, and the columns behind it
 * stand where they should. */
struct line {
    FILE *out;
    const struct mpr_table *table;
    const struct mpr_style *style;
    int end, column, narrow;
    int *number; /* of each column: what its widest number takes */
    struct cuts cuts[PATHS];
};

static void put(struct line *l, int at, const char *text, int least)
{
    const int gap = at - l->end > least || !l->end ? at - l->end : least;
    if (!*text) return;
    fprintf(l->out, "%*s%s", gap, "", text);
    l->end += gap + (int)mpr_utf8_columns(text);
}

static void end_line(struct line *l)
{
    fputc('\n', l->out);
    l->end = l->column = 0;
}

/* ---- columns */

static bool is_left(const struct mpr_column *c)
{
    return c->type == MPR_PATH || c->type == MPR_TEXT || c->type == MPR_WORD ||
           c->type == MPR_FLAG || c->type == MPR_NUMBERS;
}

/* No two of its texts look alike, as wide as there is room. */
static bool is_cut(const struct mpr_column *c)
{
    return c->type == MPR_PATH || c->width == MPR_WIDE;
}

/* As wide as it takes, so the last in its line; where it has no room it goes on below. */
static bool is_note(const struct mpr_column *c)
{
    return c->type == MPR_TEXT && !c->width && !c->below;
}

static const struct cuts *cuts_of(const struct line *l, const struct mpr_column *c)
{
    const struct cuts *k = l->cuts;
    while (k < l->cuts + PATHS && k->column != c) k++;
    return k < l->cuts + PATHS ? k : NULL;
}

static int width_of(const struct line *l, const struct mpr_column *c)
{
    static const int usual[] = {
        [MPR_BYTES] = 12,      [MPR_SIGNED] = 12, [MPR_CHANGE] = 12,  [MPR_COUNT] = 10,
        [MPR_TIME] = 14,       [MPR_SPAN] = 10,   [MPR_ADDRESS] = 14, [MPR_SHARE] = 9,
        [MPR_PATH] = MPR_WIDE, [MPR_NUMBERS] = 0
    };
    const int width = c->width ? c->width : usual[c->type];
    const bool finer = c->type == MPR_TIME && l->table->tick && l->table->tick < 1000000;
    const struct cuts *cuts = cuts_of(l, c);
    const int number = l->number[c - l->table->column];
    if (cuts) return cuts->width;
    if (width == MPR_WIDE) return MPR_TEXT_PATH;
    if (finer) return width + (int)strlen("000000");
    return width > number ? width : number;
}

static bool is_shown(const struct line *l, const struct mpr_column *c)
{
    return mpr_column_in(c, MPR_IN_TEXT) && (!c->spare || c->spare > l->narrow);
}

/* The column from `from` on that text has; NULL: none. */
static const struct mpr_column *next_column(const struct line *l, const struct mpr_column *from)
{
    for (; from < l->table->column + l->table->columns; from++)
        if (is_shown(l, from)) return from;
    return NULL;
}

static int indent_of(const struct line *l) { return l->table->flush ? 0 : INDENT; }

static int lead_width(const struct mpr_column *c)
{
    return c->lead ? (int)mpr_utf8_columns(c->lead) : is_left(c) ? GAP : 0;
}

/* The text in the next column. */
static void align(struct line *l, const struct mpr_column *c, const char *text, bool first)
{
    const int width = width_of(l, c);
    if (!first) l->column += lead_width(c);
    put(l, is_left(c) ? l->column : l->column + width - (int)mpr_utf8_columns(text), text,
        c->lead      ? 0
        : is_left(c) ? GAP
                     : 1);
    l->column += width;
}

/* ---- cells */

/* "0:1" */
static char *numbers(const struct mpr_value *v)
{
    struct mpr_number n;
    char *text = mpr_alloc(v->count + 1, sizeof n.text), *end = text;
    for (size_t i = 0; i < v->count; i++)
        end += sprintf(end, "%s%" PRIu64, i ? ":" : "", v->numbers[i]);
    return text;
}

static char *marked(const char *number, const char *bound, bool estimated)
{
    return mpr_text_format("%s%s%s", bound, estimated ? "~" : "", number);
}

/* Harmless; the caller frees it. */
static char *cell_text(const struct mpr_table *t, const struct mpr_value *v, bool estimated)
{
    struct mpr_number n;
    if (v->state != MPR_KNOWN) return mpr_text_copy(v->state == MPR_UNKNOWN ? "-" : "");
    if (v->type == MPR_TEXT || v->type == MPR_WORD) return mpr_text_harmless(v->text);
    if (v->type == MPR_NUMBERS) return numbers(v);
    if (v->type == MPR_PATH) return mpr_text_whole_path(v->path, t->by);
    return marked(mpr_cell_number(&n, t, v), v->at_least ? "≥" : "", estimated || v->about);
}

/* A text from column `at` on, which goes on below; further left where there it has too little room.
 */
static void wrapped(struct line *l, int at, const char *text, int least)
{
    const int room = l->style->width - at;
    if (!*text) return;
    if (l->style->width && (int)mpr_utf8_columns(text) > room && room < NOTE) {
        if (l->end) fputc('\n', l->out);
        l->end = 0;
        at = BELOW;
    }
    struct mpr_wrap w = { l->out, (size_t)l->style->width, (size_t)at, (size_t)at };
    fprintf(l->out, "%*s", at - l->end > least || !l->end ? at - l->end : least, "");
    mpr_wrap_words(&w, text);
    l->end = (int)w.column;
}

static void cell(struct line *l, const struct mpr_column *c, const struct mpr_value *v, bool first,
                 bool estimated)
{
    char *text = cell_text(l->table, v, estimated && c->estimate);
    if (!first && c->lead) put(l, l->column, c->lead, 0);
    if (is_note(c)) {
        wrapped(l, l->column + (first ? 0 : lead_width(c)), text, c->lead ? 0 : GAP);
    } else if (l->style->width && is_left(c) && c->width > 0) {
        char *cut = mpr_cut_text(text, (size_t)c->width);
        align(l, c, cut, first);
        free(cut);
    } else align(l, c, text, first);
    free(text);
}

static void path_cell(struct line *l, const struct cuts *cuts, size_t row, bool first)
{
    if (!first && cuts->column->lead) put(l, l->column, cuts->column->lead, 0);
    align(l, cuts->column, cuts->text[row], first);
    const struct mpr_column *next = next_column(l, cuts->column + 1);
    if (l->style->width || !next || next->below || l->end <= l->column) return;
    fputc('\n', l->out); /* longer than any line should be: what is behind it stands below */
    l->end = 0;
}

/* ---- lines */

static int number_width(const struct line *l, const struct mpr_value *v, bool estimated)
{
    char *text = cell_text(l->table, v, estimated);
    const int width = (int)mpr_utf8_columns(text);
    free(text);
    return width;
}

/* Numbers are not cut: "~-548.85 KiB" takes more than is usual, and a blank where a number is
 * before it. */
static void measure(struct line *l, size_t rows)
{
    const struct mpr_table *t = l->table;
    const struct mpr_column *before = NULL;
    l->number = mpr_alloc(t->columns, sizeof *l->number);
    for (const struct mpr_column *c = next_column(l, t->column); c; c = next_column(l, c + 1)) {
        const int blank = !c->lead && before && !is_left(before);
        int *most = &l->number[c - t->column];
        for (size_t i = 0; before && !is_left(c) && i < rows; i++) {
            const void *row = mpr_table_row(t, i, MPR_IN_TEXT);
            const struct mpr_value v = mpr_table_cell(t, c, row);
            const bool about = c->estimate && t->estimated && t->estimated(row);
            const int width = number_width(l, &v, about) + blank;
            if (width > *most && (blank || c->lead)) *most = width;
        }
        before = c;
    }
}

/* Where a text of the column begins, when the one before it ends at `from`. */
static int begin_of(const struct line *l, const struct mpr_column *c, int from, const char *text)
{
    const int begin = from + lead_width(c);
    return is_left(c) ? begin : begin + width_of(l, c) - (int)mpr_utf8_columns(text);
}

/* What stands in place of the first column.  `next` is behind it, NULL: something; where it would
 * be moved, it is on the next line. */
static void label(struct line *l, const char *text, int at, const char *next)
{
    const struct mpr_column *const first = next_column(l, l->table->column), *const second =
                                                                                 next_column(
                                                                                     l, first + 1);
    put(l, at, text, 0);
    l->column = indent_of(l) + width_of(l, first);
    if (!l->style->width || !second || second->below) return;
    const int begin = next ? begin_of(l, second, l->column, next) : l->column;
    if (l->end < begin || (next && !*next)) return;
    fputc('\n', l->out);
    l->end = 0;
}

/* The title of a note is left out where there is no room. */
static bool has_title(const struct line *l, const struct mpr_column *c)
{
    const int end = l->column + lead_width(c) + (int)mpr_utf8_columns(c->title);
    return !c->below && !(l->style->width && is_note(c) && end > l->style->width);
}

static void heading(struct line *l)
{
    const struct mpr_column *const first = next_column(l, l->table->column), *const second =
                                                                                 next_column(
                                                                                     l, first + 1);
    fputc('\n', l->out);
    mpr_text_tone(l->out, l->style, MPR_FAINT);
    label(l, l->table->title, 0, second ? second->title : "");
    for (const struct mpr_column *c = first; (c = next_column(l, c + 1));)
        if (has_title(l, c)) align(l, c, c->title, false);
    mpr_text_tone(l->out, l->style, MPR_PLAIN);
    end_line(l);
}

static void below(struct line *l, const void *row)
{
    for (const struct mpr_column *c = next_column(l, l->table->column); c;
         c = next_column(l, c + 1)) {
        if (!c->below) continue;
        const struct mpr_value v = mpr_table_cell(l->table, c, row);
        char *text = cell_text(l->table, &v, false);
        wrapped(l, BELOW, text, 0);
        free(text);
        end_line(l);
    }
}

static void one_row(struct line *l, size_t index)
{
    const struct mpr_table *t = l->table;
    const void *row = mpr_table_row(t, index, MPR_IN_TEXT);
    const struct mpr_column *const first = next_column(l, t->column);
    const bool estimated = t->estimated && t->estimated(row);
    l->column = indent_of(l);
    for (const struct mpr_column *c = first; c; c = next_column(l, c + 1)) {
        if (c->below) continue;
        const struct cuts *cuts = cuts_of(l, c);
        const struct mpr_value v = mpr_table_cell(t, c, row);
        if (cuts) path_cell(l, cuts, index, c == first);
        else cell(l, c, &v, c == first, estimated);
    }
    end_line(l);
    below(l, row);
}

/* ---- sums */

/* Each sum below its column. */
static void sum_row(struct line *l, const char *name, size_t from)
{
    label(l, name, indent_of(l), NULL);
    for (const struct mpr_column *c = next_column(l, l->table->column);
         (c = next_column(l, c + 1));) {
        const struct mpr_value sum =
            c->sums ? mpr_table_sum(l->table, c, from, MPR_IN_TEXT) : mpr_value_absent;
        if (!c->below) cell(l, c, &sum, false, mpr_cell_estimated(l->table, c, from, MPR_IN_TEXT));
    }
    end_line(l);
}

/* ", 182 allocs", ", 1 alloc" */
static void also(const struct line *l, const struct mpr_column *c, size_t from)
{
    const struct mpr_value sum = mpr_table_sum(l->table, c, from, MPR_IN_TEXT);
    char *text = cell_text(l->table, &sum, mpr_cell_estimated(l->table, c, from, MPR_IN_TEXT));
    const size_t title = strlen(c->title);
    fprintf(l->out, ", %s %.*s", text, (int)(strcmp(text, "1") == 0 ? title - 1 : title), c->title);
    free(text);
}

/* What is left out; where several columns sum, their sums in their places. */
static void rest(struct line *l, size_t shown)
{
    const struct mpr_table *t = l->table;
    struct mpr_rest words;
    mpr_cell_rest(&words, t, shown, MPR_IN_TEXT);
    if (!t->total && mpr_cell_sums(t, MPR_IN_TEXT) > 1) {
        sum_row(l, words.text, shown);
        return;
    }
    fprintf(l->out, "%*s%.*s", INDENT, "", (int)strlen(words.text) - 1, words.text);
    for (const struct mpr_column *c = next_column(l, t->column); c; c = next_column(l, c + 1))
        if (c->of_rest) also(l, c, shown);
    fputs(")\n", l->out);
}

/* ---- paths */

static size_t longest(const struct mpr_cut *path, size_t rows)
{
    size_t most = 0;
    for (size_t i = 0; i < rows; i++) {
        const size_t width = mpr_cut_columns(&path[i]);
        if (width > most) most = width;
    }
    return most;
}

static int between(int least, int width, int most)
{
    return width < least ? least : width > most ? most : width;
}

/* What is cut takes that at least where nothing tells the width. */
static int usual_width(const struct mpr_column *c)
{
    return c->width > 0 ? c->width : MPR_TEXT_PATH;
}

/* What is cut has that much room before others have any. */
static int needed_width(const struct cuts *k)
{
    return between(LEAST, k->longest, usual_width(k->column));
}

/* What the columns take; those that are cut as much as they need, or nothing.  A note takes what is
 * left. */
static int columns_width(const struct line *l, bool needed)
{
    const struct mpr_column *const first = next_column(l, l->table->column);
    int width = indent_of(l);
    for (const struct mpr_column *c = first; c; c = next_column(l, c + 1)) {
        const struct cuts *cuts = cuts_of(l, c);
        if (c->below || is_note(c)) continue;
        if (c != first) width += lead_width(c);
        width += !is_cut(c) ? width_of(l, c) : needed && cuts ? needed_width(cuts) : 0;
    }
    return width;
}

/* What a note takes behind its row at most, or its title. */
static int note_width(const struct line *l, const struct mpr_column *c, size_t rows)
{
    int most = *c->title ? lead_width(c) + (int)mpr_utf8_columns(c->title) : 0;
    for (size_t i = 0; i < rows; i++) {
        const struct mpr_value v =
            mpr_table_cell(l->table, c, mpr_table_row(l->table, i, MPR_IN_TEXT));
        char *text = cell_text(l->table, &v, false);
        const int width = *text ? lead_width(c) + (int)mpr_utf8_columns(text) : 0;
        if (width > most) most = width;
        free(text);
    }
    return most;
}

/* beside: only of those that have room before what is spare. */
static int notes_width(const struct line *l, size_t rows, bool beside)
{
    int most = 0;
    for (const struct mpr_column *c = next_column(l, l->table->column); c;
         c = next_column(l, c + 1)) {
        const int width = is_note(c) && (c->beside || !beside) ? note_width(l, c, rows) : 0;
        if (width > most) most = width;
    }
    return most;
}

/* All the room that there is, so that tables of a report have their columns below each other; notes
 * stand behind their rows where paths still have room, or their usual width.  Whole paths take as
 * much as the longest, but for one that is longer than any line should be. */
static int path_width(const struct line *l, const struct cuts *k, int paths)
{
    if (!l->style->width) return between(usual_width(k->column), k->longest, WHOLE);
    const int room = l->style->width - columns_width(l, false),
              notes = notes_width(l, k->rows, false), needed = needed_width(k) * paths;
    return between(LEAST, (room - notes >= needed ? room - notes : room) / paths, MOST);
}

/* A path's frames live as long as the table, the text is the cut's own. */
static struct mpr_cut cut_of(const struct mpr_table *t, const struct mpr_value *v)
{
    const bool is_path = v->type == MPR_PATH && v->state == MPR_KNOWN && v->path.depth;
    return (struct mpr_cut){ .path = is_path ? v->path : (struct mpr_path){ NULL, 0 },
                             .text = is_path ? NULL : cell_text(t, v, false),
                             .caller = v->caller ? v->caller : "",
                             .lead = v->type == MPR_PATH ? v->lead : 0 };
}

static struct cuts gather(const struct line *l, const struct mpr_column *c, size_t rows)
{
    struct cuts k = { .column = c, .path = mpr_alloc(rows, sizeof *k.path), .rows = rows };
    struct mpr_value *value = mpr_alloc(rows, sizeof *value);
    for (size_t i = 0; i < rows; i++)
        value[i] = mpr_table_cell(l->table, c, mpr_table_row(l->table, i, MPR_IN_TEXT));
    if (l->style->naming && l->style->naming->telling)
        mpr_told(&k.arena, l->style->naming->telling, l->table->by, value, rows);
    for (size_t i = 0; i < rows; i++) k.path[i] = cut_of(l->table, &value[i]);
    k.longest = (int)longest(k.path, rows);
    free(value);
    return k;
}

static void free_paths(struct cuts *k)
{
    for (size_t i = 0; i < k->rows; i++) free((char *)k->path[i].text);
    free(k->path);
    mpr_arena_free(&k->arena);
}

static bool has_room(const struct line *l, size_t rows)
{
    return columns_width(l, true) + notes_width(l, rows, true) <= l->style->width;
}

/* Leaves out columns for which there is no room. */
static void make_room(struct line *l, size_t rows)
{
    int most = 0;
    for (size_t i = 0; i < l->table->columns; i++)
        if (l->table->column[i].spare > most) most = l->table->column[i].spare;
    while (l->narrow < most && !has_room(l, rows)) l->narrow++;
}

static void cut_paths(struct line *l, size_t rows)
{
    int gathered = 0, paths = 0;
    for (const struct mpr_column *c = next_column(l, l->table->column); c && gathered < PATHS;
         c = next_column(l, c + 1))
        if (is_cut(c) && !c->below) l->cuts[gathered++] = gather(l, c, rows);
    if (l->style->width) make_room(l, rows);
    for (int i = 0; i < gathered; i++) paths += is_shown(l, l->cuts[i].column);
    for (struct cuts *k = l->cuts; k < l->cuts + gathered; k++) {
        if (!is_shown(l, k->column)) continue;
        k->width = path_width(l, k, paths);
        k->text = mpr_cut_paths(k->path, rows, l->style->width ? (size_t)k->width : MPR_CUT_FULL);
    }
    for (struct cuts *k = l->cuts; k < l->cuts + gathered; k++) free_paths(k);
}

static void free_line(struct line *l)
{
    for (struct cuts *k = l->cuts; k < l->cuts + PATHS && k->column; k++) {
        for (size_t i = 0; k->text && i < k->rows; i++) free(k->text[i]);
        free(k->text);
    }
    free(l->number);
}

void mpr_text_table(FILE *out, const struct mpr_table *t, const struct mpr_style *style)
{
    struct line l = { .out = out, .table = t, .style = style };
    const size_t shown = mpr_table_shown(t, style->top, MPR_IN_TEXT);
    if (!t->rows) return;
    measure(&l, shown);
    cut_paths(&l, shown);
    if (t->title) heading(&l);
    for (size_t i = 0; i < shown; i++) one_row(&l, i);
    if (shown < t->rows && !t->partial) rest(&l, shown);
    if (t->total) sum_row(&l, t->total, 0);
    free_line(&l);
}
