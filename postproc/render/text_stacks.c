/* Call trees for a terminal.
 *
 * If a call has only one call below it, with the same bytes, both have the same indentation, so
 * that deep stacks stay readable. */
#include <stdlib.h>

#include "alloc.h"
#include "amount.h"
#include "calltree.h"
#include "reports.h"
#include "text.h"
#include "units.h"
#include "user_frame.h"
#include "utf8.h"

/* ---- lines */

enum { FIGURES = 36 }; /* columns */

static void write_amounts(FILE *out, const struct mpr_calltree *t, uint64_t bytes, uint64_t blocks)
{
    struct mpr_number size, share, count;
    const char *mark = t->samples ? "~" : "";
    char text[2][40];
    snprintf(text[0], sizeof text[0], "%s%s", mark, mpr_units_size(&size, bytes));
    snprintf(text[1], sizeof text[1], "%s%s", mark, mpr_units_count(&count, blocks));
    fprintf(out, "%13s%9s%12s  ", text[0], mpr_units_share(&share, bytes, t->bytes), text[1]);
}

/* Writes a call.  Its indentation is limited to half of the room, and its name is cut.
 * @width: of the line, or 0 for unlimited */
static void call_line(FILE *out, const struct mpr_calltree *t, size_t i,
                      const struct mpr_frame *name, unsigned depth, int width)
{
    enum { MIN_NAME = 8 };
    const int room = width > FIGURES + 2 * MIN_NAME ? width - FIGURES : 2 * MIN_NAME;
    int indent = (int)depth * 2;
    if (width && indent > room / 2) indent = room / 2;
    if (mpr_report_tree_continues(t, i)) fprintf(out, "%*s", FIGURES, "");
    else write_amounts(out, t, t->call[i].bytes, t->call[i].blocks);
    fprintf(out, "%*s", indent, "");
    if (width) {
        char *cut = mpr_cut_frame(name, (size_t)(room - indent));
        fputs(cut, out);
        free(cut);
    } else mpr_utf8_write_escaped(out, name->text);
    fputc('\n', out);
}

struct short_name {
    size_t parent, call;
    const struct mpr_frame *frame;
};

MPR_COMPARE(by_name, struct short_name,
            mpr_compare(a->parent, b->parent) ?: mpr_frame_compare(a->frame, b->frame))

/* Returns the names of calls: short ones, but whole ones if two calls below one call would have the
 * same name. */
static const struct mpr_frame **call_names(const struct mpr_calltree *t, struct mpr_arena *arena)
{
    const struct mpr_frame **name = mpr_arena_alloc(arena, t->calls * sizeof *name);
    struct short_name *brief = mpr_arena_alloc(arena, t->calls * sizeof *brief);
    for (size_t i = 0; i < t->calls; i++) {
        const size_t parent = t->call[i].parent == i ? SIZE_MAX : t->call[i].parent;
        brief[i] = (struct short_name){ parent, i, mpr_frame_short(arena, t->call[i].frame) };
    }
    if (t->calls) qsort(brief, t->calls, sizeof *brief, by_name);
    for (size_t i = 0; i < t->calls; i++) {
        const bool same = (i && by_name(&brief[i - 1], &brief[i]) == 0) ||
                          (i + 1 < t->calls && by_name(&brief[i], &brief[i + 1]) == 0);
        name[brief[i].call] = same ? t->call[brief[i].call].frame : brief[i].frame;
    }
    return name;
}

static void tree(FILE *out, const struct mpr_calltree *t, const struct mpr_style *style)
{
    bool *shown = mpr_report_tree_shown(t, style->top ? style->top : MPR_TOP);
    unsigned *depth = mpr_alloc(t->calls, sizeof *depth);
    struct mpr_arena arena = { 0 };
    const struct mpr_frame **name = call_names(t, &arena);
    size_t omitted = 0;
    for (size_t i = 0; i < t->calls; i++) {
        const size_t parent = t->call[i].parent;
        depth[i] = parent == i ? 0 : depth[parent] + !mpr_report_tree_continues(t, i);
        if (shown[i]) call_line(out, t, i, name[i], depth[i], style->width);
        else omitted++;
    }
    if (t->unknown_bytes) {
        write_amounts(out, t, t->unknown_bytes, t->unknown_blocks);
        fprintf(out, "(no %scall stack)\n", t->options.python ? "Python " : "");
    }
    if (omitted) fprintf(out, "(%zu smaller calls)\n", omitted);
    mpr_arena_free(&arena);
    free(depth);
    free(shown);
}

/* ---- lines above and below the tree */

static void heading(struct mpr_document *doc, const struct mpr_calltree *t)
{
    const char *python = t->options.python ? "Python " : "";
    if (!t->heap) {
        mpr_doc_gap(doc);
        mpr_doc_line(doc, "no %scall stacks were recorded%s%s", python,
                     t->options.heap ? " for " : "", mpr_heap_name(t->options.heap));
        return;
    }
    mpr_report_too_late(doc, &t->summary, t->options.at);
    mpr_doc_gap(doc);
    mpr_doc_add(doc, MPR_STRONG, "%s", mpr_heap_name(t->heap));
    mpr_doc_add_plain(doc, "  %s %s%s at %s, by %scall stack, %s",
                      mpr_instant_is_peak(t->options.at) ? "peak" : "bytes", t->inside ? "~" : "",
                      mpr_doc_size(doc, t->bytes), mpr_doc_time(doc, t->time), python,
                      t->options.bottom_up ? "from the allocating call" : "from main");
    mpr_report_inside(doc, t->inside);
    mpr_doc_end(doc);
    mpr_doc_add(doc, MPR_FAINT, "%13s%9s%12s", "bytes", "share", "blocks");
    mpr_doc_end(doc);
}

static void footer(struct mpr_document *doc, const struct mpr_calltree *t)
{
    bool any = false;
    if (t->samples)
        mpr_doc_line(doc, "~ estimated from %s sample%s", mpr_doc_count(doc, t->samples),
                     t->samples == 1 ? "" : "s");
    for (size_t i = 0; i < t->others; i++) {
        if (t->other[i] == t->heap) continue;
        if (!any) mpr_doc_gap(doc);
        mpr_doc_add_plain(doc, any ? ", %s" : "other heaps (--heap): %s",
                          mpr_heap_name(t->other[i]));
        any = true;
    }
    mpr_doc_end(doc);
    mpr_report_notes(doc, t->note, t->notes);
}

void mpr_stacks_text(FILE *out, const struct mpr_calltree *t, const struct mpr_style *style)
{
    struct mpr_document above = { .clock = style->clock }, below = { .clock = style->clock };
    mpr_text_log(out, &t->summary, NULL, style);
    mpr_doc_set_epoch(&above, t->summary.process.start_ns);
    heading(&above, t);
    mpr_text_document(out, &above, style);
    mpr_doc_free(&above);
    if (!t->heap) return;
    tree(out, t, style);
    footer(&below, t);
    mpr_text_document(out, &below, style);
    mpr_doc_free(&below);
}
