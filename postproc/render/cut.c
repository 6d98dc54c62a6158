#include "cut.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "snip.h"
#include "telling.h"
#include "text.h"
#include "utf8.h"

/* BEFORE: bytes before a difference that are seen with it; LEAST: columns of what says something,
 * BEHIND_LEAD behind a lead. */
enum { ROUNDS = 8, LEAST = 4, BEFORE = 3, BEHIND_LEAD = 10 };

/* How much of a path is shown. LINE: module and line of code without the function, or the function
 * without its classes; SITE: without the last call into a library; PATH: without the object file of
 * the last frame; ALONE: all frames; CALLED: PATH with the caller; WHOLE: everything. */
enum amount { LINE, SITE, PATH, ALONE, CALLED, WHOLE, AMOUNTS };

/* The text of a path, and its parts. */
struct shown {
    char *text;
    struct mpr_parts parts;
};

struct cell {
    struct shown source[AMOUNTS];
    char *text;
    int amount;
    unsigned char *marked; /* of the source, what must be seen */
    size_t lead, index;
};

char *mpr_cut_text(const char *text, size_t width) { return mpr_snip(text, NULL, width, NULL); }

/* ---- how much is told */

/* A text while it is written. */
struct writing {
    struct shown *to;
    FILE *out;
    size_t bytes;
};

static size_t here(struct writing *w)
{
    fflush(w->out);
    return w->bytes;
}

static struct mpr_piece write_text(struct writing *w, const char *text)
{
    const size_t from = here(w);
    mpr_text_escaped(w->out, text);
    return (struct mpr_piece){ from, here(w) };
}

/* Where the last dot of a piece is; 0: it has none. */
static size_t last_dot(const struct writing *w, struct mpr_piece piece)
{
    const char *text = w->to->text, *dot = memrchr(text + piece.from, '.', piece.to - piece.from);
    return dot ? (size_t)(dot - text) : 0;
}

/* "app::Server::f" becomes "f". */
static const char *without_scope(const char *name)
{
    int depth = 0; /* of templates' arguments */
    for (const char *at = name + strlen(name); at > name + 2 && !strstr(name, "operator"); at--) {
        depth += (at[-1] == '>') - (at[-1] == '<');
        if (!depth && strncmp(at - 2, "::", 2) == 0) return at;
    }
    return name;
}

/* A frame of the path, and how it is shortened. */
struct part {
    const struct mpr_frame *frame;
    bool last;    /* the last one that is shown */
    bool end;     /* the last one of the whole path */
    bool no_body; /* without "<module>" */
    enum amount amount;
};

static bool is_left_out(const struct part *p, enum mpr_frame_word_kind word)
{
    const struct mpr_frame *f = p->frame;
    if (p->amount == ALONE || p->amount == WHOLE) return false;
    if (word == MPR_WORD_NAME && *f->file)
        return p->no_body || (p->amount == LINE && p->last && f->module_first);
    return word == MPR_WORD_OBJECT && p->end && strstr(f->object, ".so");
}

static void write_word(struct writing *w, const struct part *p, const struct mpr_frame_word *word,
                       bool first)
{
    struct mpr_parts *parts = &w->to->parts;
    const bool brief = p->amount == LINE && p->last && *p->frame->file;
    const size_t from = here(w);
    fputs(word->open, w->out);
    const struct mpr_piece text = write_text(
        w, brief && word->kind == MPR_WORD_NAME ? without_scope(word->text) : word->text);
    const size_t dot = last_dot(w, text);
    if (word->line != MPR_ANY_LINE) fprintf(w->out, ":%" PRIu64, word->line);
    fputs(word->close, w->out);
    if (word->kind == MPR_WORD_PLACE) parts->place = (struct mpr_piece){ from, here(w) };
    if (!p->last) return;
    if (dot && (word->kind == MPR_WORD_NAME || word->kind == MPR_WORD_OTHER))
        parts->method = (struct mpr_piece){ dot + 1, text.to };
    if (word->kind == MPR_WORD_MODULE && first)
        parts->module = (struct mpr_piece){ dot ? dot : from, here(w) };
}

static void write_frame(struct writing *w, const struct part *p)
{
    struct mpr_frame_word word[MPR_FRAME_WORDS];
    const size_t words = mpr_frame_words(p->frame, word);
    bool any = false;
    if (p->last) w->to->parts.last = here(w);
    for (size_t i = 0; i < words; i++) {
        if (is_left_out(p, word[i].kind)) continue;
        if (any) fputc(' ', w->out);
        write_word(w, p, &word[i], !any);
        any = true;
    }
}

/* "f (t.py:3) > Linear.__init__": the last frame is the function that the line called. */
static bool has_callee(struct mpr_path path)
{
    return path.depth > 1 && !mpr_frame_is_call(path.frame[path.depth - 1]) &&
           *path.frame[path.depth - 2]->file;
}

/* The last "<module> (t.py:3)" is shown by its line only. */
static size_t last_body(struct mpr_path path)
{
    size_t i = path.depth;
    while (i-- > 0 && strcmp(path.frame[i]->name, "<module>") != 0) continue;
    return i;
}

static void write_path(struct writing *w, struct mpr_path path, enum amount amount)
{
    const size_t shown = path.depth - (amount <= SITE && has_callee(path)), body = last_body(path);
    for (size_t i = 0; i < shown; i++) {
        if (i) fputs(" > ", w->out);
        write_frame(w, &(struct part){ path.frame[i], i + 1 == shown, i + 1 == path.depth,
                                       i == body, amount });
    }
}

static void write_caller(struct writing *w, const char *caller)
{
    const size_t from = here(w);
    if (*caller) fputs(" <- ", w->out);
    w->to->parts.caller = (struct mpr_piece){ from, write_text(w, caller).to };
}

static struct shown show(const struct mpr_cut *path, enum amount amount)
{
    struct shown shown = { .text = NULL };
    struct writing w = { .to = &shown };
    w.out = mpr_text_open(&shown.text, &w.bytes);
    if (path->path.depth) write_path(&w, path->path, amount);
    else fputs(path->text, w.out);
    write_caller(&w, amount >= CALLED ? path->caller : "");
    mpr_text_close(w.out);
    return shown;
}

size_t mpr_cut_columns(const struct mpr_cut *path)
{
    if (!path->path.depth && !path->text) return 0;
    struct shown whole = show(path, WHOLE);
    const size_t columns = mpr_utf8_columns(whole.text);
    free(whole.text);
    return columns;
}

char *mpr_cut_frame(const struct mpr_frame *frame, size_t width)
{
    struct shown whole =
        show(&(struct mpr_cut){ .path = mpr_frame_alone(&frame), .caller = "" }, ALONE);
    char *cut = mpr_snip(whole.text, &whole.parts, width, NULL);
    free(whole.text);
    return cut;
}

/* ---- one cell */

static const char *told(const struct cell *c) { return c->source[c->amount].text; }

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

static size_t lead_of(const struct mpr_cut *path, const char *whole, size_t width)
{
    char *lead = mpr_text_part(whole, path->lead);
    const size_t columns = mpr_utf8_columns(lead), bytes = strlen(lead);
    free(lead);
    return columns + BEHIND_LEAD <= width ? bytes : 0;
}

static void write_cell(struct cell *c, size_t width)
{
    free(c->text);
    c->text = mpr_snip(told(c), &c->source[c->amount].parts, width, c->marked);
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
        free(c->source[i].text);
        c->source[i].text = without_folders(c->source[WHOLE].text, width);
        const size_t bytes = strlen(c->source[i].text);
        c->source[i].parts = (struct mpr_parts){ .caller = { bytes, bytes } };
    }
}

static struct mpr_piece moved(struct mpr_piece piece, size_t bytes)
{
    return (struct mpr_piece){ piece.from + bytes, piece.to + bytes };
}

static struct mpr_parts shifted(struct mpr_parts p, size_t bytes)
{
    return (struct mpr_parts){ p.last + bytes, moved(p.place, bytes), moved(p.method, bytes),
                               moved(p.module, bytes), moved(p.caller, bytes) };
}

/* Puts the innermost module, "[h.0.mlp] ", before a text that does not show it. */
static void add_module(struct cell *c, struct mpr_path path, size_t width)
{
    const struct mpr_frame *frame = mpr_telling_module(path);
    char *module = mpr_text_harmless(frame ? frame->module : ""),
         *front = mpr_text_format("[%s] ", module);
    const size_t columns = mpr_utf8_columns(front), bytes = strlen(front);
    struct shown *source = &c->source[c->amount];
    if (frame && columns <= width / 2 && !strstr(c->text, front)) {
        char *whole = mpr_text_format("%s%s", front, source->text);
        free(source->text);
        *source = (struct shown){ whole, shifted(source->parts, bytes) };
        c->marked = mpr_alloc(strlen(whole) + 1, 1);
        memset(c->marked, 1, bytes);
        write_cell(c, width);
    }
    free(front);
    free(module);
}

/* The most that fits; else a part of the least. */
static struct cell cell_of(const struct mpr_cut *path, size_t index, size_t width)
{
    struct cell c = { .amount = WHOLE, .index = index };
    for (enum amount i = 0; i < AMOUNTS; i++) c.source[i] = show(path, i);
    if (width == MPR_CUT_FULL) width = mpr_utf8_columns(c.source[WHOLE].text);
    while (c.amount > LINE && mpr_utf8_columns(told(&c)) > width)
        c.amount = c.amount == WHOLE ? ALONE : c.amount - 1;
    c.lead = path->lead ? lead_of(path, c.source[ALONE].text, width) : 0;
    if (c.lead) shorten_command(&c, width);
    c.marked = marks_of(&c);
    write_cell(&c, width);
    if (mpr_utf8_columns(told(&c)) > width) add_module(&c, path->path, width);
    return c;
}

static void free_cell(struct cell *c)
{
    for (int i = 0; i < AMOUNTS; i++) free(c->source[i].text);
    free(c->marked);
}

/* ---- what is alike */

static int by_text(const void *left, const void *right)
{
    const struct cell *a = left, *b = right;
    int order = strcmp(a->text, b->text);
    if (!order) order = strcmp(told(a), told(b));
    return order ? order : strcmp(a->source[WHOLE].text, b->source[WHOLE].text);
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
    write_cell(c, width > strlen(mark) + LEAST ? width - strlen(mark) : LEAST);
    char *numbered = mpr_text_format("%s%s", c->text, mark);
    free(c->text);
    c->text = numbered;
}

static bool any_equal(const struct cell *cell, size_t cells)
{
    for (size_t i = 1; i < cells; i++)
        if (strcmp(told(&cell[i]), told(&cell[i - 1])) == 0 &&
            strcmp(cell[i].source[WHOLE].text, cell[i - 1].source[WHOLE].text) != 0)
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
            same &= strcmp(cell[i].source[WHOLE].text, cell[to].source[WHOLE].text) == 0;
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
        if (path[i].path.depth || path[i].text) cell[cells++] = cell_of(&path[i], i, width);
    for (int round = 0; round < ROUNDS && part_alike(cell, cells, width, round); round++) continue;
    for (size_t i = 0; i < cells; i++) {
        text[cell[i].index] = cell[i].text;
        free_cell(&cell[i]);
    }
    free(cell);
    return text;
}
