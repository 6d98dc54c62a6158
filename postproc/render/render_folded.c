/* Collapsed stacks, as flamegraph.pl and its like read them: a line is "frame;frame;frame bytes",
 * outermost first, with whole names; of what is compared "frame;frame base new".
 *
 * ";" parts frames and a blank the number: no name has the first, or ends in what looks like the
 * second. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "calltrees.h"
#include "document.h"
#include "timelines.h"
#include "utf8.h"

/* ---- a line */

/* Frames that have been written of it. */
struct line {
    FILE *out;
    size_t frames;
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Of "step 12", which a line may end in, as a frame is the same in all of them: tools would take
 * two numbers, of a comparison.  NULL: there is none. */
static const char *before_number(const char *name)
{
    const char *end = name + strlen(name), *at;
    while (end > name && end[-1] == ' ') end--;
    for (at = end; at > name && (is_digit(at[-1]) || at[-1] == '.');) at--;
    return at > name && at[-1] == ' ' && is_digit(*at) ? at - 1 : NULL;
}

static void frame(struct line *line, const char *name)
{
    const char *const blank = before_number(name);
    char before = 0;
    if (line->frames++) fputc(';', line->out);
    while (*name) {
        const char *const from = name;
        uint32_t code;
        const bool whole = mpr_utf8_next(&name, &code);
        if (code == ';') code = ':';
        if (!whole) fputs("\xef\xbf\xbd", line->out);
        else if (from == blank) fputc('_', line->out);
        else if (mpr_utf8_unsafe(code) ||
                 mpr_utf8_commands(before, code, *name == ';' ? ':' : *name))
            fputc('?', line->out);
        else if (code == ':') fputc(':', line->out);
        else fwrite(from, 1, (size_t)(name - from), line->out);
        before = name[-1];
    }
}

static void frames(struct line *line, struct mpr_path path)
{
    if (!path.depth) frame(line, mpr_group_nowhere(MPR_GROUP_RANGE));
    for (size_t i = 0; i < path.depth; i++) frame(line, path.frame[i]->text);
}

/* ---- documents */

/* What a stack holds, and held in the base. */
struct held {
    uint64_t bytes, before;
};

static const struct mpr_column *column(const struct mpr_table *t, const char *key)
{
    for (size_t i = 0; key && i < t->columns; i++)
        if (t->column[i].key && strcmp(t->column[i].key, key) == 0) return &t->column[i];
    return NULL;
}

/* Some parts of a device are measured around calls and may hold less than nothing. */
static uint64_t number(const struct mpr_table *t, const char *key, const void *row)
{
    const struct mpr_column *c = column(t, key);
    if (!c) return 0;
    const struct mpr_value v = mpr_table_cell(t, c, row);
    if (v.state != MPR_KNOWN) return 0;
    return v.type == MPR_SIGNED && v.amount < 0 ? 0 : v.number;
}

static struct held held_of(const struct mpr_table *t, const void *row)
{
    return (struct held){ number(t, t->folded.bytes, row), number(t, t->folded.before, row) };
}

static void end(const struct mpr_table *t, struct line *line, struct held held)
{
    if (t->folded.before) fprintf(line->out, " %" PRIu64, held.before);
    fprintf(line->out, " %" PRIu64 "\n", held.bytes);
}

static struct mpr_value path_of(const struct mpr_table *t, const void *row)
{
    for (size_t i = 0; i < t->columns; i++)
        if (t->column[i].type == MPR_PATH && t->column[i].key)
            return mpr_table_cell(t, &t->column[i], row);
    return mpr_value_absent;
}

static bool is_stack(const struct mpr_table *t, const void *row)
{
    const struct held held = held_of(t, row);
    return (held.bytes || held.before) && path_of(t, row).state == MPR_KNOWN;
}

/* The frames above its path. */
static struct line begin(FILE *out, const struct mpr_table *t, const void *row)
{
    struct line line = { .out = out };
    const struct mpr_column *in = column(t, t->folded.in);
    if (t->folded.of) frame(&line, t->folded.of);
    if (in) frame(&line, mpr_table_cell(t, in, row).text);
    return line;
}

static void stack(FILE *out, const struct mpr_table *t, const void *row)
{
    struct line line = begin(out, t, row);
    const struct mpr_value path = path_of(t, row);
    frames(&line, path.path);
    end(t, &line, held_of(t, row));
}

/* What --top leaves out: the sum stays whole. */
struct rest {
    const void *row; /* the first one's */
    size_t stacks;
    struct held sum;
};

static void leave_out(struct rest *rest, const struct mpr_table *t, const void *row)
{
    const struct held held = held_of(t, row);
    if (!rest->stacks++) rest->row = row;
    rest->sum.bytes += held.bytes;
    rest->sum.before += held.before;
}

static void table(FILE *out, const struct mpr_table *t, size_t top)
{
    size_t written = 0;
    struct rest rest = { .stacks = 0 };
    for (size_t i = 0; i < t->rows; i++) {
        const void *row = mpr_table_row(t, i, MPR_IN_CSV);
        if (!is_stack(t, row)) continue;
        if (top && written == top) leave_out(&rest, t, row);
        else stack(out, t, row), written++;
    }
    if (!rest.stacks) return;
    struct line line = begin(out, t, rest.row);
    fprintf(out, "%s(%zu smaller stacks)", line.frames ? ";" : "", rest.stacks);
    end(t, &line, rest.sum);
}

void mpr_folded_report(FILE *out, const struct mpr_document *doc, const struct mpr_style *style)
{
    for (const struct mpr_item *i = doc->first; i; i = i->next)
        if (i->kind == MPR_TABLE && i->table->folded.bytes) table(out, i->table, style->top);
}

/* ---- a timeline: its heaps where they are largest */

static const struct mpr_span *largest(const struct mpr_heap_line *h)
{
    const struct mpr_span *span = h->spans ? h->span : NULL;
    for (size_t i = 1; i < h->spans; i++)
        if (h->span[i].max > span->max) span = &h->span[i];
    return span;
}

static void heap(FILE *out, const struct mpr_heap_line *h)
{
    const struct mpr_span *span = largest(h);
    uint64_t *vector = mpr_alloc(h->bands, sizeof *vector);
    for (size_t i = 0; span && i < span->end; i++) vector[h->change[i].band] = h->change[i].bytes;
    for (size_t i = 0; i < h->bands; i++) {
        struct line line = { .out = out };
        if (!vector[i]) continue;
        frame(&line, mpr_heap_name(h->heap));
        if (h->band[i].kind == MPR_BAND_OTHER) frame(&line, "everything else");
        else frames(&line, h->band[i].path);
        fprintf(out, " %" PRIu64 "\n", vector[i]);
    }
    free(vector);
}

void mpr_timeline_folded(FILE *out, const struct mpr_timeline *t, const struct mpr_style *style)
{
    (void)style;
    for (size_t i = 0; i < t->heaps; i++) heap(out, &t->heap[i]);
}

/* ---- call trees, of one heap: main is the first frame */

void mpr_stacks_folded(FILE *out, const struct mpr_calltree *t, const struct mpr_style *style)
{
    const struct mpr_frame **path = mpr_alloc(t->calls, sizeof *path);
    bool *ending = mpr_stacks_ending(t, style->top);
    uint64_t sum = 0, left_out = 0;
    for (size_t i = 0; i < t->calls; i++) {
        const struct mpr_call *c = &t->call[i];
        struct line line = { .out = out };
        path[c->depth] = c->frame;
        if (!c->own_bytes) continue;
        if (ending[i]) {
            frames(&line, (struct mpr_path){ path, c->depth + 1 });
            fprintf(out, " %" PRIu64 "\n", c->own_bytes);
            continue;
        }
        sum += c->own_bytes;
        left_out++;
    }
    if (left_out) fprintf(out, "(%" PRIu64 " smaller stacks) %" PRIu64 "\n", left_out, sum);
    if (t->unknown_bytes)
        fprintf(out, "(no %scall stack) %" PRIu64 "\n", t->options.python ? "Python " : "",
                t->unknown_bytes);
    free(ending);
    free(path);
}
