#include "cut.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "snip.h"
#include "utf8.h"

#define ARROW  " > "
#define MODULE "<module> ("

/* BEFORE: bytes before a difference that are seen with it; LEAST: columns of what says something,
 * BEHIND_LEAD behind a lead. */
enum { ROUNDS = 8, LEAST = 4, BEFORE = 3, BEHIND_LEAD = 10 };

/* How much of a path is told.  LINE: the module and the line of code, without its function, or the
 * function without its classes; SITE:
 * without what it called there; PATH: without the library of its last name; CALLED: that with the
 * caller. */
enum { LINE, SITE, PATH, ALONE, CALLED, WHOLE, AMOUNTS };

struct cell {
    char *source[AMOUNTS], *text;
    int amount;
    unsigned char *marked; /* of the source, what must be seen */
    size_t lead, index;
};

char *mpr_cut_text(const char *text, size_t width) { return mpr_snip(text, width, NULL); }

/* ---- how much is told */

static bool is_place(const char *open, const char *close)
{
    const char *digit = close;
    while (digit > open && isdigit((unsigned char)digit[-1])) digit--;
    return digit < close && digit > open && digit[-1] == ':';
}

/* "f (libfoo.so)" becomes "f"; a place in a file stays. */
static char *without_library(const char *text)
{
    const char *open = strrchr(text, '(');
    const bool library = open && open > text + 1 && open[-1] == ' ' &&
                         text[strlen(text) - 1] == ')' && strstr(open, ".so") && !strchr(open, ':');
    return mpr_text_part(text, library ? (size_t)(open - 1 - text) : strlen(text));
}

/* "<module> (t.py:3)", the last one, becomes "(t.py:3)". */
static char *without_module(char *text)
{
    char *at = text, *found = NULL;
    while ((at = strstr(at, MODULE))) found = at++;
    if (found) memmove(found, strchr(found, '('), strlen(strchr(found, '(')) + 1);
    return text;
}

/* "f (t.py:3) > Linear.__init__" becomes "f (t.py:3)". */
static char *without_callee(const char *text)
{
    const char *arrow = NULL;
    for (const char *at = text; (at = strstr(at, ARROW)); at++) arrow = at;
    if (!arrow || arrow == text || arrow[-1] != ')' || strchr(arrow, '('))
        return mpr_text_copy(text);
    const char *open = arrow;
    while (open > text && *open != '(') open--;
    return mpr_text_part(text, is_place(open, arrow - 1) ? (size_t)(arrow - text) : strlen(text));
}

/* "[layers.3.mlp] generate (t.py:3)" becomes "[layers.3.mlp] (t.py:3)". */
static char *without_function(char *text)
{
    char *name = text, *place = strrchr(text, '(');
    for (char *at = text; (at = strstr(at, ARROW));) name = at += strlen(ARROW);
    char *close = *name == '[' ? strstr(name, "] ") : NULL;
    if (close && place && place > close + 2 && is_place(place, text + strlen(text) - 1))
        memmove(close + 2, place, strlen(place) + 1);
    return text;
}

/* "app::Server::f (t.cpp:3)" becomes "f (t.cpp:3)": the place says whose it is. */
static char *without_scope(char *text)
{
    char *name = text, *place = strrchr(text, '(');
    for (char *at = text; (at = strstr(at, ARROW));) name = at += strlen(ARROW);
    if (!place || place < name || !is_place(place, text + strlen(text) - 1)) return text;
    int depth = 0; /* of templates' arguments */
    for (char *at = place; at > name + 2 && !strstr(name, "operator"); at--) {
        depth += (at[-1] == '>') - (at[-1] == '<');
        if (depth || strncmp(at - 2, "::", 2) != 0) continue;
        memmove(name, at, strlen(at) + 1);
        break;
    }
    return text;
}

static char *called_by(const char *text, const char *caller)
{
    return mpr_text_format("%s%s%s", text, *caller ? " <- " : "", caller);
}

/* ---- one cell */

static const char *told(const struct cell *c) { return c->source[c->amount]; }

/* Of a command the file that it runs, "train.py" of "/x/train.py"; its length, 0: there is none. */
static size_t script_of(const char *command, size_t lead, const char **script)
{
    const char *word = command + lead;
    while (*(word += strspn(word, " "))) {
        const size_t bytes = strcspn(word, " ");
        const char *slash = memrchr(word, '/', bytes), *name = slash ? slash + 1 : word;
        if (*word != '-' && (slash || memchr(word, '.', bytes))) {
            *script = name;
            return (size_t)(word + bytes - name);
        }
        word += bytes;
    }
    return 0;
}

/* Its lead is seen, and of a command what it runs, unless that is long; NULL: it has none. */
static unsigned char *marks_of(const struct cell *c)
{
    enum { LONG = 24 };
    const char *script;
    if (!c->lead) return NULL;
    unsigned char *marked = mpr_alloc(strlen(told(c)) + 1, 1);
    memset(marked, 1, c->lead);
    const size_t bytes = script_of(told(c), c->lead, &script);
    if (bytes && bytes <= LONG) memset(marked + (script - told(c)), 1, bytes);
    return marked;
}

static size_t lead_of(const struct mpr_cut *path, size_t width)
{
    char *lead = mpr_text_part(path->whole, path->lead);
    const size_t columns = mpr_utf8_columns(lead), bytes = strlen(lead);
    free(lead);
    return columns + BEHIND_LEAD <= width ? bytes : 0;
}

static void write_cell(struct cell *c, size_t width)
{
    free(c->text);
    c->text = mpr_snip(told(c), width, c->marked);
}

/* "dir/sub/train.py", "--to=/var/x": where the folders of a path begin and end; NULL: there are
 * none. */
static const char *folders_of(const char *word, size_t bytes, const char **end)
{
    const char *equals = memchr(word, '=', bytes), *from = equals ? equals + 1 : word;
    *end = memrchr(from, '/', bytes - (size_t)(from - word));
    return *end && *end > from + strlen("…") && strncmp(from, "…", strlen("…")) != 0 ? from : NULL;
}

struct folders {
    const char *from, *to;
    bool out;
};

/* The longest first, of equals the first. */
static int by_length(const void *left, const void *right)
{
    const struct folders *a = *(struct folders *const *)left, *b = *(struct folders *const *)right;
    if (a->to - a->from != b->to - b->from) return a->to - a->from > b->to - b->from ? -1 : 1;
    return a->from < b->from ? -1 : 1;
}

static size_t find_folders(const char *command, struct folders **folders)
{
    size_t count = 0, cap = 0;
    *folders = NULL;
    for (const char *word = command + strspn(command, " "); *word; word += strspn(word, " ")) {
        const size_t bytes = strcspn(word, " ");
        const char *end, *begin = folders_of(word, bytes, &end);
        word += bytes;
        if (!begin) continue;
        MPR_GROW(*folders, count, cap);
        (*folders)[count++] = (struct folders){ .from = begin, .to = end };
    }
    return count;
}

/* Takes out as many as it takes. */
static void choose_folders(struct folders *folders, size_t count, size_t columns, size_t width)
{
    struct folders **by = mpr_alloc(count, sizeof *by);
    for (size_t i = 0; i < count; i++) by[i] = &folders[i];
    if (count) qsort(by, count, sizeof *by, by_length);
    for (size_t i = 0; i < count && columns > width; i++) {
        char *part = mpr_text_part(by[i]->from, (size_t)(by[i]->to - by[i]->from));
        columns -= mpr_utf8_columns(part) - mpr_utf8_columns("…");
        by[i]->out = true;
        free(part);
    }
    free(by);
}

/* Of a command the folders of paths go first, the longest before the others: what it runs tells. */
static char *without_folders(const char *command, size_t width)
{
    char *text = mpr_alloc(strlen(command) + 1, 1), *out = text;
    const char *from = command;
    struct folders *folders;
    const size_t count = find_folders(command, &folders);
    choose_folders(folders, count, mpr_utf8_columns(command), width);
    for (size_t i = 0; i < count; i++) {
        if (!folders[i].out) continue;
        out = stpcpy(mempcpy(out, from, (size_t)(folders[i].from - from)), "…");
        from = folders[i].to;
    }
    strcpy(out, from);
    free(folders);
    return text;
}

static void shorten_command(struct cell *c, size_t width)
{
    for (int i = LINE; i <= ALONE; i++) {
        free(c->source[i]);
        c->source[i] = without_folders(c->source[WHOLE], width);
    }
}

/* Where the front does not show it is put before the rest. */
static void add_front(struct cell *c, const char *front, size_t width)
{
    const size_t columns = mpr_utf8_columns(front);
    if (!columns || columns > width / 2 || strstr(c->text, front)) return;
    char *whole = mpr_text_format("%s%s", front, told(c));
    free(c->source[c->amount]);
    c->source[c->amount] = whole;
    c->marked = mpr_alloc(strlen(whole) + 1, 1);
    memset(c->marked, 1, strlen(front));
    write_cell(c, width);
}

/* The most that fits; else a part of the least. */
static struct cell cell_of(const struct mpr_cut *path, size_t index, size_t width)
{
    char *brief = without_module(without_library(path->whole));
    struct cell c = { .source = { without_scope(without_function(without_callee(brief))),
                                  without_callee(brief), mpr_text_copy(brief),
                                  mpr_text_copy(path->whole), called_by(brief, path->caller),
                                  called_by(path->whole, path->caller) },
                      .amount = WHOLE,
                      .index = index };
    free(brief);
    if (width == MPR_CUT_FULL) width = mpr_utf8_columns(c.source[WHOLE]);
    while (c.amount > LINE && mpr_utf8_columns(told(&c)) > width)
        c.amount = c.amount == WHOLE ? ALONE : c.amount - 1;
    c.lead = path->lead ? lead_of(path, width) : 0;
    if (c.lead) shorten_command(&c, width);
    c.marked = marks_of(&c);
    write_cell(&c, width);
    if (mpr_utf8_columns(told(&c)) > width) add_front(&c, path->front, width);
    return c;
}

static void free_cell(struct cell *c)
{
    for (int i = 0; i < AMOUNTS; i++) free(c->source[i]);
    free(c->marked);
}

/* ---- what is alike */

static int by_text(const void *left, const void *right)
{
    const struct cell *a = left, *b = right;
    int order = strcmp(a->text, b->text);
    if (!order) order = strcmp(told(a), told(b));
    return order ? order : strcmp(a->source[WHOLE], b->source[WHOLE]);
}

/* The next amount that tells something else. */
static void tell_more(struct cell *c)
{
    const char *before = told(c);
    while (c->amount < WHOLE && strcmp(told(c), before) == 0) c->amount++;
    free(c->marked);
    c->marked = marks_of(c);
}

static void mark(struct cell *c, size_t at)
{
    const size_t length = strlen(told(c));
    if (!c->marked) c->marked = mpr_alloc(length + 1, 1);
    for (size_t i = at < BEFORE ? 0 : at - BEFORE; i <= at && i < length; i++) c->marked[i] = 1;
}

/* Where two differ first, or with `last` last. */
static void mark_difference(struct cell *a, const struct cell *b, bool last)
{
    const char *x = told(a), *y = told(b);
    size_t same = 0, m = strlen(x), n = strlen(y);
    if (last) {
        while (same < m && same < n && x[m - 1 - same] == y[n - 1 - same]) same++;
        mark(a, m - same - (same < m));
    } else {
        while (x[same] && x[same] == y[same]) same++;
        mark(a, same);
    }
}

/* Where nothing else helps: "text #2". */
static void number(struct cell *c, size_t width)
{
    char mark[32];
    snprintf(mark, sizeof mark, " #%zu", c->index + 1);
    char *cut =
        mpr_snip(told(c), width > strlen(mark) + LEAST ? width - strlen(mark) : LEAST, c->marked);
    free(c->text);
    c->text = mpr_text_format("%s%s", cut, mark);
    free(cut);
}

static bool any_equal(const struct cell *cell, size_t cells)
{
    for (size_t i = 1; i < cells; i++)
        if (strcmp(told(&cell[i]), told(&cell[i - 1])) == 0 &&
            strcmp(cell[i].source[WHOLE], cell[i - 1].source[WHOLE]) != 0)
            return true;
    return false;
}

/* Until all of them tell something else, which they are in order of. */
static void tell_enough(struct cell *cell, size_t cells)
{
    for (int more = LINE; more < WHOLE && any_equal(cell, cells); more++) {
        for (size_t i = 0; i < cells; i++) tell_more(&cell[i]);
        qsort(cell, cells, sizeof *cell, by_text);
    }
}

/* Of cells that look alike, the neighbours differ from each the latest. */
static void tell_apart(struct cell *cell, size_t cells, size_t width, int round)
{
    tell_enough(cell, cells);
    for (size_t i = 0; i < cells; i++) {
        if (i) mark_difference(&cell[i], &cell[i - 1], round >= ROUNDS / 2);
        if (i + 1 < cells) mark_difference(&cell[i], &cell[i + 1], round >= ROUNDS / 2);
    }
    for (size_t i = 0; i < cells; i++) {
        if (round < ROUNDS - 1) write_cell(&cell[i], width);
        else number(&cell[i], width);
    }
}

/* False: no two were alike. */
static bool part_alike(struct cell *cell, size_t cells, size_t width, int round)
{
    bool any = false;
    qsort(cell, cells, sizeof *cell, by_text);
    for (size_t i = 0, to; i < cells; i = to) {
        bool same = true;
        for (to = i + 1; to < cells && strcmp(cell[i].text, cell[to].text) == 0; to++)
            same &= strcmp(cell[i].source[WHOLE], cell[to].source[WHOLE]) == 0;
        if (to - i == 1 || same) continue;
        any = true;
        tell_apart(&cell[i], to - i, width, round);
    }
    return any;
}

/* ---- all of them */

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
        free_cell(&cell[i]);
    }
    free(cell);
    return text;
}
