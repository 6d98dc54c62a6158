#include "text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "user_frame.h"
#include "utf8.h"

enum amount {
    LINE,   /* only the module and line of the last call, or its function without classes */
    SITE,   /* without a last call that is in a library */
    PATH,   /* without the object file of the last frame */
    ALONE,  /* whole frames */
    CALLED, /* PATH with the caller */
    WHOLE,
    AMOUNTS
};

struct shown {
    char *text;
    struct mpr_parts parts;
};

struct cell {
    struct shown source[AMOUNTS];
    char *text; /* source[amount], cut */
    int amount;
    unsigned char *marked; /* for each byte of the source: not 0 if it must be visible */
    size_t lead, index;
};

/* ---- texts of a path */

struct writing {
    struct shown *to;
    FILE *out;
    size_t bytes;
};

static size_t position(struct writing *w)
{
    fflush(w->out);
    return w->bytes;
}

/* Returns "f" of "app::Server::f". */
static const char *without_scope(const char *name)
{
    int depth = 0; /* of template arguments */
    for (const char *at = name + strlen(name); at > name + 2 && !strstr(name, "operator"); at--) {
        depth += (at[-1] == '>') - (at[-1] == '<');
        if (!depth && strncmp(at - 2, "::", 2) == 0) return at;
    }
    return name;
}

struct part {
    const struct mpr_frame *frame;
    bool last;    /* the last shown frame */
    bool end;     /* this is the last frame of the whole path */
    bool no_name; /* the innermost "<module> (t.py:3)", of which only the line is shown */
    enum amount amount;
};

static void write_word(struct writing *w, const struct part *p, const struct mpr_frame_word *word,
                       bool first)
{
    struct mpr_parts *parts = &w->to->parts;
    const bool brief = p->amount == LINE && p->last && *p->frame->file;
    const size_t from = position(w);
    fputs(word->open, w->out);
    const size_t name = position(w);
    mpr_utf8_write_escaped(w->out, brief && word->kind == MPR_WORD_NAME ? without_scope(word->text)
                                                                        : word->text);
    const size_t name_end = position(w);
    const char *last_dot = memrchr(w->to->text + name, '.', name_end - name);
    const size_t dot = last_dot ? (size_t)(last_dot - w->to->text) : 0;
    if (word->line != MPR_ANY_LINE) fprintf(w->out, ":%" PRIu64, word->line);
    fputs(word->close, w->out);
    if (word->kind == MPR_WORD_PLACE) parts->place = (struct mpr_piece){ from, position(w) };
    if (!p->last) return;
    if (dot && (word->kind == MPR_WORD_NAME || word->kind == MPR_WORD_OTHER))
        parts->method = (struct mpr_piece){ dot + 1, name_end };
    if (word->kind == MPR_WORD_MODULE && first)
        parts->module = (struct mpr_piece){ dot ? dot : from, position(w) };
}

static void write_frame(struct writing *w, const struct part *p)
{
    struct mpr_frame_word word[MPR_FRAME_WORDS];
    const struct mpr_frame *f = p->frame;
    const size_t words = mpr_frame_words(f, word);
    const bool whole = p->amount == ALONE || p->amount == WHOLE;
    const bool line_only = p->no_name || (p->amount == LINE && p->last && f->module_first);
    const bool no_name = !whole && line_only && *f->file,
               no_object = !whole && p->end && strstr(f->object, ".so");
    bool any = false;
    if (p->last) w->to->parts.last = position(w);
    for (size_t i = 0; i < words; i++) {
        if (word[i].kind == MPR_WORD_NAME ? no_name : word[i].kind == MPR_WORD_OBJECT && no_object)
            continue;
        if (any) fputc(' ', w->out);
        write_word(w, p, &word[i], !any);
        any = true;
    }
}

static void write_path(struct writing *w, struct mpr_path path, enum amount amount)
{
    size_t shown = path.depth, body = path.depth;
    /* "f (t.py:3) > Linear.__init__": the last frame is the function that the line called. */
    const bool has_callee = path.depth > 1 && !mpr_frame_is_call(path.frame[path.depth - 1]) &&
                            *path.frame[path.depth - 2]->file;
    if (amount <= SITE && has_callee) shown--;
    while (body-- > 0 && strcmp(path.frame[body]->name, "<module>") != 0) continue;
    for (size_t i = 0; i < shown; i++) {
        if (i) fputs(" > ", w->out);
        write_frame(w, &(struct part){ path.frame[i], i + 1 == shown, i + 1 == path.depth,
                                       i == body, amount });
    }
}

static bool is_path(const struct mpr_value *v) { return v->type == MPR_PATH && v->path.depth; }

static struct shown show(const struct mpr_value *v, enum amount amount)
{
    struct shown shown = { .text = NULL };
    struct writing w = { .to = &shown };
    w.out = mpr_text_open(&shown.text, &w.bytes);
    if (amount >= CALLED && v->caller && *v->caller) {
        mpr_utf8_write_escaped(w.out, v->caller);
        fputs(" > ", w.out);
    }
    if (is_path(v)) write_path(&w, v->path, amount);
    else fputs(v->text, w.out);
    mpr_text_close(w.out);
    return shown;
}

size_t mpr_full_width(const struct mpr_value *v)
{
    if (!is_path(v) && !v->text) return 0;
    struct shown whole = show(v, WHOLE);
    const size_t columns = mpr_utf8_columns(whole.text);
    free(whole.text);
    return columns;
}

char *mpr_cut_frame(const struct mpr_frame *frame, size_t width)
{
    const struct mpr_value path = mpr_value_path(mpr_frame_alone(&frame));
    struct shown whole = show(&path, ALONE);
    char *cut = mpr_snip(whole.text, &whole.parts, width, NULL);
    free(whole.text);
    return cut;
}

/* ---- one cell */

static const char *cell_text(const struct cell *c) { return c->source[c->amount].text; }

static void write_cell(struct cell *c, size_t width)
{
    free(c->text);
    c->text = mpr_snip(cell_text(c), &c->source[c->amount].parts, width, c->marked);
}

/* ---- commands, which are texts with a lead */

/* The folders of a path in a command: those of "dir/sub/train.py", or of "--to=/var/x". */
struct folders {
    const char *from, *to;
    bool out;
};

MPR_COMPARE(longest_first, struct folders *,
            mpr_compare((size_t)((*b)->to - (*b)->from), (size_t)((*a)->to - (*a)->from))
                ?: mpr_compare((uintptr_t)(*a)->from, (uintptr_t)(*b)->from))

static size_t find_folders(const char *command, struct folders **folders)
{
    size_t count = 0, cap = 0;
    *folders = NULL;
    for (const char *word = command + strspn(command, " "); *word; word += strspn(word, " ")) {
        const size_t bytes = strcspn(word, " ");
        const char *equals = memchr(word, '=', bytes), *from = equals ? equals + 1 : word,
                   *to = memrchr(from, '/', bytes - (size_t)(from - word));
        word += bytes;
        if (!to || to <= from + strlen("…") || strncmp(from, "…", strlen("…")) == 0) continue;
        *MPR_ADD(*folders, count, cap) = (struct folders){ .from = from, .to = to };
    }
    return count;
}

/* Replaces folders by "…", the longest ones first, until the command fits, because names of files
 * and options are more useful. */
static char *without_folders(const char *command, size_t width)
{
    char *text = mpr_alloc(strlen(command) + 1, 1), *out = text;
    const char *from = command;
    struct folders *folders;
    size_t columns = mpr_utf8_columns(command);
    const size_t count = find_folders(command, &folders);
    struct folders **by = mpr_alloc(count, sizeof *by);
    for (size_t i = 0; i < count; i++) by[i] = &folders[i];
    if (count) qsort(by, count, sizeof *by, longest_first);
    for (size_t i = 0; i < count && columns > width; i++) {
        char *part = mpr_text_copy_part(by[i]->from, (size_t)(by[i]->to - by[i]->from));
        columns -= mpr_utf8_columns(part) - mpr_utf8_columns("…");
        by[i]->out = true;
        free(part);
    }
    for (size_t i = 0; i < count; i++) {
        if (!folders[i].out) continue;
        out = stpcpy(mempcpy(out, from, (size_t)(folders[i].from - from)), "…");
        from = folders[i].to;
    }
    strcpy(out, from);
    free(by);
    free(folders);
    return text;
}

/* Marks the lead, and the file that the command runs ("train.py" of "/x/train.py") unless its name
 * is long.  Returns NULL if there is no lead. */
static unsigned char *mark_pieces(const struct cell *c)
{
    enum { LONG = 24 };
    if (!c->lead) return NULL;
    unsigned char *marked = mpr_alloc(strlen(cell_text(c)) + 1, 1);
    memset(marked, 1, c->lead);
    for (const char *word = cell_text(c) + c->lead; *(word += strspn(word, " "));) {
        const size_t bytes = strcspn(word, " ");
        const char *slash = memrchr(word, '/', bytes), *name = slash ? slash + 1 : word;
        word += bytes;
        if (word[-(ptrdiff_t)bytes] == '-' || !(slash || memchr(name, '.', (size_t)(word - name))))
            continue;
        if (word - name <= LONG) memset(marked + (name - cell_text(c)), 1, (size_t)(word - name));
        break;
    }
    return marked;
}

/* Shortens the sources of a command.  The lead stays only if there is some room after it. */
static void begin_command(struct cell *c, size_t lead, size_t width)
{
    enum { ROOM = 10 };
    char *text = mpr_text_copy_part(c->source[ALONE].text, lead);
    const bool has_room = mpr_utf8_columns(text) + ROOM <= width;
    c->lead = has_room ? strlen(text) : 0;
    free(text);
    for (int i = LINE; c->lead && i <= ALONE; i++) {
        free(c->source[i].text);
        c->source[i].text = without_folders(c->source[WHOLE].text, width);
        c->source[i].parts = (struct mpr_parts){ .last = 0 };
    }
}

/* ---- modules */

/* Adds the innermost module, "[h.0.mlp] ", before a text that was cut and does not show it. */
static void add_module(struct cell *c, struct mpr_path path, size_t width)
{
    const struct mpr_frame *frame = mpr_frame_module(path);
    if (!frame) return;
    char *front;
    size_t front_bytes;
    FILE *out = mpr_text_open(&front, &front_bytes);
    fputc('[', out);
    mpr_utf8_write_escaped(out, frame->module);
    fputs("] ", out);
    mpr_text_close(out);
    if (mpr_utf8_columns(front) <= width / 2 && !strstr(c->text, front)) {
        struct shown *to = &c->source[c->amount];
        struct mpr_parts *p = &to->parts;
        struct mpr_piece *const piece[] = { &p->place, &p->method, &p->module };
        char *whole = mpr_text_format("%s%s", front, to->text);
        free(to->text);
        to->text = whole;
        for (size_t i = 0; i < sizeof piece / sizeof *piece; i++)
            piece[i]->from += front_bytes, piece[i]->to += front_bytes;
        p->last += front_bytes;
        c->marked = mpr_alloc(strlen(whole) + 1, 1);
        memset(c->marked, 1, front_bytes);
        write_cell(c, width);
    }
    free(front);
}

/* Returns a cell with the largest amount that fits, or a part of the smallest one. */
static struct cell make_cell(const struct mpr_value *v, size_t index, size_t width)
{
    struct cell c = { .amount = WHOLE, .index = index };
    for (enum amount i = 0; i < AMOUNTS; i++) c.source[i] = show(v, i);
    if (width == MPR_CUT_FULL) width = mpr_utf8_columns(c.source[WHOLE].text);
    while (c.amount > LINE && mpr_utf8_columns(cell_text(&c)) > width)
        c.amount = c.amount == WHOLE ? ALONE : c.amount - 1;
    if (v->lead) begin_command(&c, v->lead, width);
    c.marked = mark_pieces(&c);
    write_cell(&c, width);
    if (mpr_utf8_columns(cell_text(&c)) > width && is_path(v)) add_module(&c, v->path, width);
    return c;
}

/* ---- cells that look the same */

enum { ROUNDS = 8 }; /* in the last one such cells get numbers */

static int by_text(const void *left, const void *right)
{
    const struct cell *a = left, *b = right;
    int order = strcmp(a->text, b->text);
    if (!order) order = strcmp(cell_text(a), cell_text(b));
    return order ? order : strcmp(a->source[WHOLE].text, b->source[WHOLE].text);
}

/* Marks the first or the last difference of two sources, and a few bytes before it. */
static void mark_difference(struct cell *a, const struct cell *b, bool last)
{
    enum { BEFORE = 3 };
    const char *x = cell_text(a), *y = cell_text(b);
    const size_t m = strlen(x), n = strlen(y);
    size_t same = 0, at;
    if (last) {
        while (same < m && same < n && x[m - 1 - same] == y[n - 1 - same]) same++;
        at = m - same - (same < m);
    } else {
        while (x[same] && x[same] == y[same]) same++;
        at = same;
    }
    if (!a->marked) a->marked = mpr_alloc(m + 1, 1);
    for (size_t i = at < BEFORE ? 0 : at - BEFORE; i <= at && i < m; i++) a->marked[i] = 1;
}

/* Numbers a cell that cannot be distinguished otherwise: "text #2". */
static void add_number(struct cell *c, size_t width)
{
    enum { MIN_TEXT = 4 };
    char suffix[32];
    snprintf(suffix, sizeof suffix, " #%zu", c->index + 1);
    const size_t columns = strlen(suffix);
    write_cell(c, width > columns + MIN_TEXT ? width - columns : MIN_TEXT);
    char *numbered = mpr_text_format("%s%s", c->text, suffix);
    free(c->text);
    c->text = numbered;
}

/* Returns true if neighbours have equal sources, but are not the same. */
static bool any_equal(const struct cell *cell, size_t cells)
{
    for (size_t i = 1; i < cells; i++)
        if (strcmp(cell_text(&cell[i]), cell_text(&cell[i - 1])) == 0 &&
            strcmp(cell[i].source[WHOLE].text, cell[i - 1].source[WHOLE].text) != 0)
            return true;
    return false;
}

/* Shows more of cells that look the same until their sources differ.  Then marks the differences
 * from the neighbours, which are the most similar cells, because all are sorted. */
static void distinguish(struct cell *cell, size_t cells, size_t width, int round)
{
    const bool last = round >= ROUNDS / 2;
    for (int more = LINE; more < WHOLE && any_equal(cell, cells); more++) {
        for (struct cell *c = cell; c < cell + cells; c++) {
            const char *before = cell_text(c);
            while (c->amount < WHOLE && strcmp(cell_text(c), before) == 0) c->amount++;
            free(c->marked);
            c->marked = mark_pieces(c);
        }
        qsort(cell, cells, sizeof *cell, by_text);
    }
    for (size_t i = 0; i < cells; i++) {
        if (i) mark_difference(&cell[i], &cell[i - 1], last);
        if (i + 1 < cells) mark_difference(&cell[i], &cell[i + 1], last);
    }
    for (size_t i = 0; i < cells; i++) {
        if (round < ROUNDS - 1) write_cell(&cell[i], width);
        else add_number(&cell[i], width);
    }
}

/* Changes cells that look the same.  Returns false if there were none. */
static bool distinguish_equal(struct cell *cell, size_t cells, size_t width, int round)
{
    bool any = false;
    qsort(cell, cells, sizeof *cell, by_text);
    for (size_t i = 0, to; i < cells; i = to) {
        bool same = true;
        for (to = i + 1; to < cells && strcmp(cell[i].text, cell[to].text) == 0; to++)
            same &= strcmp(cell[i].source[WHOLE].text, cell[to].source[WHOLE].text) == 0;
        if (to - i == 1 || same) continue;
        any = true;
        distinguish(&cell[i], to - i, width, round);
    }
    return any;
}

char **mpr_cut_paths(const struct mpr_value *value, size_t values, size_t width)
{
    char **text = mpr_alloc(values, sizeof *text);
    struct cell *cell = mpr_alloc(values, sizeof *cell);
    size_t cells = 0;
    for (size_t i = 0; i < values; i++)
        if (is_path(&value[i]) || value[i].text) cell[cells++] = make_cell(&value[i], i, width);
    for (int round = 0; round < ROUNDS && distinguish_equal(cell, cells, width, round); round++)
        continue;
    for (size_t i = 0; i < cells; i++) {
        text[cell[i].index] = cell[i].text;
        for (int k = 0; k < AMOUNTS; k++) free(cell[i].source[k].text);
        free(cell[i].marked);
    }
    free(cell);
    return text;
}
