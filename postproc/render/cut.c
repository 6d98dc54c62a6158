#include "cut.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "utf8.h"

#define ELLIPSIS "…"
#define ARROW    " > "

/* LEAST: columns of a beginning that says something; BEFORE: those that are shown before the first
 * difference. */
enum { ROUNDS = 4, LEAST = 4, BEFORE = 3 };

/* A path that is being cut; brief: without the library that its last name is in. */
struct cell {
    char *full, *brief, *text;
    size_t index;
};

/* ---- columns of a text */

/* The byte where column `columns` begins, or the one before where a wide character is there. */
static size_t byte_at(const char *text, size_t columns)
{
    const char *at = text;
    for (size_t used = 0; *at;) {
        const char *next = at;
        uint32_t code;
        mpr_utf8_next(&next, &code);
        used += mpr_utf8_width(code);
        if (used > columns) break;
        at = next;
    }
    return (size_t)(at - text);
}

/* The last so many columns, at most; marks that belong to what is cut off go with it. */
static const char *end_of(const char *text, size_t columns)
{
    size_t all = mpr_utf8_columns(text);
    while (*text) {
        const char *next = text;
        uint32_t code;
        mpr_utf8_next(&next, &code);
        const size_t width = mpr_utf8_width(code);
        if (all <= columns && width) break;
        all -= width;
        text = next;
    }
    return text;
}

static char *format(const char *first, size_t bytes, const char *second, size_t more,
                    const char *third)
{
    return mpr_text_format("%.*s%s%.*s%s%s", (int)bytes, first, bytes ? ELLIPSIS : "", (int)more,
                           second, more ? ELLIPSIS : "", third);
}

/* The most whole names at the end of a path that fit, with the arrow before them; NULL: not even
 * the last one. */
static const char *names_that_fit(const char *text, size_t width)
{
    const char *at = text;
    while ((at = strstr(at, ARROW)) && mpr_utf8_columns(at) > width) at += strlen(ARROW);
    return at;
}

char *mpr_cut_text(const char *text, size_t width)
{
    if (mpr_utf8_columns(text) <= width) return mpr_text_copy(text);
    const char *names = names_that_fit(text, width - 1),
               *end = names ? names : end_of(text, width - 1 - (width - 1) / 3);
    const size_t head = width - 1 - mpr_utf8_columns(end);
    size_t bytes = head < LEAST ? 0 : byte_at(text, head);
    while (names && bytes && strchr(ARROW, text[bytes - 1])) bytes--;
    return mpr_text_format("%.*s" ELLIPSIS "%s", (int)bytes, text, end);
}

/* ---- what is alike */

static int by_text(const void *left, const void *right)
{
    const struct cell *a = left, *b = right;
    const int order = strcmp(a->text, b->text);
    return order ? order : strcmp(a->full, b->full);
}

static const char *source_of_cell(const struct cell *cell, int round)
{
    return round < ROUNDS / 2 ? cell->brief : cell->full;
}

static size_t common(const struct cell *cell, size_t cells, int round)
{
    const char *first = source_of_cell(&cell[0], round);
    size_t same = strlen(first);
    for (size_t i = 1; i < cells; i++) {
        const char *text = source_of_cell(&cell[i], round);
        size_t at = 0;
        while (at < same && text[at] == first[at]) at++;
        same = at;
    }
    while (same && (first[same] & 0xc0) == 0x80) same--;
    return same;
}

/* "be…the difference…end": from just before byte `at` on. */
static char *window(const char *text, size_t at, size_t width)
{
    const size_t head = width / 5, tail = width / 4, middle = width - head - tail - 2;
    const char *beginning = text + byte_at(text, head), *end = end_of(text, tail);
    const char *from = text;
    while (mpr_utf8_columns(from) > mpr_utf8_columns(text + at) + BEFORE) {
        uint32_t code;
        mpr_utf8_next(&from, &code);
    }
    if (from <= beginning) return format(text, byte_at(text, width - 1 - tail), "", 0, end);
    if (from + byte_at(from, middle) >= end)
        return format(text, (size_t)(beginning - text), "", 0, end_of(text, width - 1 - head));
    return format(text, (size_t)(beginning - text), from, byte_at(from, middle), end);
}

/* Where nothing else helps: "text #2". */
static char *numbered(const char *text, size_t number, size_t width)
{
    char mark[32];
    snprintf(mark, sizeof mark, " #%zu", number);
    char *cut = mpr_cut_text(text, width > strlen(mark) + LEAST ? width - strlen(mark) : LEAST),
         *whole = mpr_text_format("%s%s", cut, mark);
    free(cut);
    return whole;
}

static void cut_elsewhere(struct cell *cell, size_t cells, size_t width, int round)
{
    const size_t at = common(cell, cells, round);
    for (size_t i = 0; i < cells; i++) {
        const char *text = source_of_cell(&cell[i], round);
        free(cell[i].text);
        if (round == ROUNDS - 1) cell[i].text = numbered(text, cell[i].index + 1, width);
        else
            cell[i].text =
                mpr_utf8_columns(text) <= width ? mpr_text_copy(text) : window(text, at, width);
    }
}

/* False: no two were alike. */
static bool part_alike(struct cell *cell, size_t cells, size_t width, int round)
{
    bool any = false;
    qsort(cell, cells, sizeof *cell, by_text);
    for (size_t i = 0, to; i < cells; i = to) {
        for (to = i + 1; to < cells && strcmp(cell[i].text, cell[to].text) == 0;) to++;
        if (to - i == 1 || strcmp(cell[i].full, cell[to - 1].full) == 0) continue;
        any = true;
        cut_elsewhere(&cell[i], to - i, width, round);
    }
    return any;
}

/* ---- all of them */

/* "f (libfoo.so)" becomes "f"; a place in a file stays. */
static char *without_library(const char *text)
{
    const char *open = strrchr(text, '(');
    const bool library = open && open > text + 1 && open[-1] == ' ' &&
                         text[strlen(text) - 1] == ')' && strstr(open, ".so") && !strchr(open, ':');
    return mpr_text_part(text, library ? (size_t)(open - 1 - text) : strlen(text));
}

static char *cut_brief(const char *brief, const char *front, size_t width)
{
    char *text = mpr_cut_text(brief, width);
    const size_t columns = mpr_utf8_columns(front);
    if (!columns || columns > width / 2 || strstr(text, front)) return text;
    free(text);
    text = mpr_cut_text(brief, width - columns);
    char *with_front = mpr_text_format("%s%s", front, text);
    free(text);
    return with_front;
}

static char *called_by(const char *text, const char *caller)
{
    return mpr_text_format("%s%s%s", text, *caller ? " <- " : "", caller);
}

/* The longest of: with the caller, without it, without the library; else a part of that. */
static struct cell cell_of(const struct mpr_cut *path, size_t index, size_t width)
{
    char *brief = without_library(path->whole);
    struct cell c = { called_by(path->whole, path->caller), called_by(brief, path->caller), NULL,
                      index };
    if (width == MPR_CUT_FULL || mpr_utf8_columns(c.full) <= width) c.text = mpr_text_copy(c.full);
    else if (mpr_utf8_columns(path->whole) <= width) c.text = mpr_text_copy(path->whole);
    else c.text = cut_brief(brief, path->front, width);
    free(brief);
    return c;
}

char **mpr_cut_paths(const struct mpr_cut *path, size_t paths, size_t width)
{
    char **text = mpr_alloc(paths, sizeof *text);
    struct cell *cell = mpr_alloc(paths, sizeof *cell);
    size_t cells = 0;
    for (size_t i = 0; i < paths; i++)
        if (path[i].whole) cell[cells++] = cell_of(&path[i], i, width);
    for (int round = 0; round < ROUNDS && part_alike(cell, cells, width, round); round++) continue;
    for (size_t i = 0; i < cells; i++) {
        text[cell[i].index] = cell[i].text;
        free(cell[i].full);
        free(cell[i].brief);
    }
    free(cell);
    return text;
}
