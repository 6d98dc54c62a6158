/* No document: a tree, drawn by the depth of its calls, has no columns.
 *
 * A call that only calls one other, with all its bytes, stands above it in the same column: deep
 * stacks stay readable. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "calltrees.h"
#include "cut.h"
#include "reports.h"
#include "telling.h"
#include "text.h"
#include "units.h"

/* ---- which calls are shown */

/* Of the call above and this one only the bytes of this one are shown: they are the same. */
static bool continues(const struct mpr_calltree *t, size_t i)
{
    const struct mpr_call *c = &t->call[i];
    return c->parent != i && c->bytes == t->call[c->parent].bytes && i == c->parent + 1;
}

static int descending(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a > b ? -1 : a < b;
}

/* The bytes that the smallest of the `top` largest has, and how many of those that have as many are
 * among them. */
struct cut {
    uint64_t least;
    size_t ties;
};

static struct cut cut_at(uint64_t *bytes, size_t count, size_t top)
{
    struct cut cut = { 0, SIZE_MAX };
    if (count <= top) return cut;
    qsort(bytes, count, sizeof *bytes, descending);
    cut = (struct cut){ bytes[top - 1], 0 };
    for (size_t i = top; i-- > 0 && bytes[i] == cut.least;) cut.ties++;
    return cut;
}

static bool is_above(struct cut *cut, uint64_t bytes)
{
    if (bytes != cut->least) return bytes > cut->least;
    return cut->ties && cut->ties--;
}

bool *mpr_stacks_shown(const struct mpr_calltree *t, size_t top)
{
    uint64_t *bytes = mpr_alloc(t->calls, sizeof *bytes);
    bool *shown = mpr_alloc(t->calls, sizeof *shown);
    size_t count = 0;
    for (size_t i = 0; i < t->calls; i++)
        if (!continues(t, i)) bytes[count++] = t->call[i].bytes;
    struct cut cut = top ? cut_at(bytes, count, top) : (struct cut){ 0, SIZE_MAX };
    for (size_t i = 0; i < t->calls; i++) {
        if (continues(t, i)) shown[i] = shown[t->call[i].parent];
        else shown[i] = is_above(&cut, t->call[i].bytes);
    }
    free(bytes);
    return shown;
}

bool *mpr_stacks_ending(const struct mpr_calltree *t, size_t top)
{
    uint64_t *bytes = mpr_alloc(t->calls, sizeof *bytes);
    bool *ending = mpr_alloc(t->calls, sizeof *ending);
    size_t count = 0;
    for (size_t i = 0; i < t->calls; i++)
        if (t->call[i].own_bytes) bytes[count++] = t->call[i].own_bytes;
    struct cut cut = top ? cut_at(bytes, count, top) : (struct cut){ 0, SIZE_MAX };
    for (size_t i = 0; i < t->calls; i++)
        ending[i] = t->call[i].own_bytes && is_above(&cut, t->call[i].own_bytes);
    free(bytes);
    return ending;
}

/* ---- lines */

enum { FIGURES = 36 }; /* columns */

static void figures(FILE *out, const struct mpr_calltree *t, uint64_t bytes, uint64_t blocks)
{
    struct mpr_number size, share, count;
    const char *mark = t->samples ? "~" : "";
    char text[2][40];
    snprintf(text[0], sizeof text[0], "%s%s", mark, mpr_units_size(&size, bytes));
    snprintf(text[1], sizeof text[1], "%s%s", mark, mpr_units_count(&count, blocks));
    fprintf(out, "%13s%9s%12s  ", text[0], mpr_units_share(&share, bytes, t->bytes), text[1]);
}

/* Deep calls begin in the middle of the room at most, and their names are cut in theirs; width:
 * of the line, 0: all that it takes. */
static void call_line(FILE *out, const struct mpr_calltree *t, size_t i,
                      const struct mpr_frame *told, unsigned indent, int width)
{
    enum { LEAST = 8 };
    const struct mpr_call *c = &t->call[i];
    const int room = width > FIGURES + 2 * LEAST ? width - FIGURES : 2 * LEAST;
    int in = (int)indent * 2;
    if (width && in > room / 2) in = room / 2;
    char *shown = width ? mpr_cut_frame(told, (size_t)(room - in)) : mpr_text_harmless(told->text);
    if (continues(t, i)) fprintf(out, "%*s", FIGURES, "");
    else figures(out, t, c->bytes, c->blocks);
    fprintf(out, "%*s%s\n", in, "", shown);
    free(shown);
}

/* ---- names: short, and no two below one call are alike */

struct told {
    size_t parent, call;
    const struct mpr_frame *frame;
};

static int by_name(const void *left, const void *right)
{
    const struct told *a = left, *b = right;
    if (a->parent != b->parent) return a->parent < b->parent ? -1 : 1;
    return mpr_frame_compare(a->frame, b->frame);
}

/* By call; whole where two would be the same. */
static const struct mpr_frame **names_of(const struct mpr_calltree *t, struct mpr_arena *arena)
{
    const struct mpr_frame **name = mpr_arena_alloc(arena, t->calls * sizeof *name);
    struct told *told = mpr_arena_alloc(arena, t->calls * sizeof *told);
    for (size_t i = 0; i < t->calls; i++) {
        const size_t parent = t->call[i].parent == i ? SIZE_MAX : t->call[i].parent;
        told[i] = (struct told){ parent, i, mpr_telling_short(arena, t->call[i].frame) };
    }
    if (t->calls) qsort(told, t->calls, sizeof *told, by_name);
    for (size_t i = 0; i < t->calls; i++) {
        const bool alike = (i && by_name(&told[i - 1], &told[i]) == 0) ||
                           (i + 1 < t->calls && by_name(&told[i], &told[i + 1]) == 0);
        name[told[i].call] = alike ? t->call[told[i].call].frame : told[i].frame;
    }
    return name;
}

static void tree(FILE *out, const struct mpr_calltree *t, const struct mpr_style *style)
{
    bool *shown = mpr_stacks_shown(t, style->top ? style->top : MPR_TEXT_TOP);
    unsigned *indent = mpr_alloc(t->calls, sizeof *indent);
    struct mpr_arena arena = { 0 };
    const struct mpr_frame **name = names_of(t, &arena);
    size_t left_out = 0;
    for (size_t i = 0; i < t->calls; i++) {
        const struct mpr_call *c = &t->call[i];
        indent[i] = c->parent == i ? 0 : indent[c->parent] + !continues(t, i);
        if (shown[i]) call_line(out, t, i, name[i], indent[i], style->width);
        else left_out++;
    }
    if (t->unknown_bytes) {
        figures(out, t, t->unknown_bytes, t->unknown_blocks);
        fprintf(out, "(no %scall stack)\n", t->options.python ? "Python " : "");
    }
    if (left_out) fprintf(out, "(%zu smaller calls)\n", left_out);
    mpr_arena_free(&arena);
    free(indent);
    free(shown);
}

/* ---- all */

static void heading(struct mpr_document *doc, const struct mpr_calltree *t)
{
    mpr_report_too_late(doc, &t->summary, t->options.at);
    mpr_doc_gap(doc);
    mpr_doc_add(doc, MPR_STRONG, "%s", mpr_heap_name(t->heap));
    mpr_doc_say(doc, "  %s %s%s at %s, by %scall stack, %s",
                mpr_instant_is_peak(t->options.at) ? "peak" : "bytes", t->inside ? "~" : "",
                mpr_doc_size(doc, t->bytes), mpr_doc_time(doc, t->time),
                t->options.python ? "Python " : "",
                t->options.bottom_up ? "from who allocated" : "from main");
    mpr_report_inside(doc, t->inside);
    mpr_doc_end(doc);
    mpr_doc_add(doc, MPR_FAINT, "%13s%9s%12s", "bytes", "share", "blocks");
    mpr_doc_end(doc);
}

static void no_stacks(struct mpr_document *doc, const struct mpr_calltree *t)
{
    mpr_doc_gap(doc);
    mpr_doc_line(doc, "no %scall stacks were recorded%s%s", t->options.python ? "Python " : "",
                 t->options.heap ? " of " : "", mpr_heap_name(t->options.heap));
}

static void behind_tree(struct mpr_document *doc, const struct mpr_calltree *t)
{
    bool any = false;
    if (t->samples)
        mpr_doc_line(doc, "~ estimated from %s sample%s", mpr_doc_count(doc, t->samples),
                     t->samples == 1 ? "" : "s");
    for (size_t i = 0; i < t->others; i++) {
        if (t->other[i] == t->heap) continue;
        if (!any) mpr_doc_gap(doc);
        mpr_doc_say(doc, any ? ", %s" : "other heaps (--heap): %s", mpr_heap_name(t->other[i]));
        any = true;
    }
    mpr_doc_end(doc);
}

typedef void describe(struct mpr_document *doc, const struct mpr_calltree *tree);

static void lines(FILE *out, const struct mpr_calltree *t, describe *what,
                  const struct mpr_style *style)
{
    struct mpr_document doc = { .clock = style->clock };
    mpr_doc_began(&doc, t->summary.process.start_ns);
    what(&doc, t);
    mpr_text_document(out, &doc, style);
    mpr_doc_free(&doc);
}

void mpr_stacks_text(FILE *out, const struct mpr_calltree *t, const struct mpr_style *style)
{
    mpr_text_log(out, &t->summary, NULL, style);
    if (!t->heap) {
        lines(out, t, no_stacks, style);
        return;
    }
    lines(out, t, heading, style);
    tree(out, t, style);
    lines(out, t, behind_tree, style);
    mpr_text_notes(out, t->note, t->notes, style);
}
