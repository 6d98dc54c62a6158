#include "render.h"

#include <stdlib.h>

#include "alloc.h"
#include "amount.h"
#include "formats.h"

const struct mpr_renderer mpr_render_text = { mpr_text_document, mpr_timeline_text,
                                              mpr_stacks_text };
const struct mpr_renderer mpr_render_json = { mpr_json_report, mpr_timeline_json, mpr_stacks_json };
const struct mpr_renderer mpr_render_csv = { mpr_csv_report, mpr_timeline_csv, mpr_stacks_csv };
const struct mpr_renderer mpr_render_folded = { mpr_folded_report, mpr_timeline_folded,
                                                mpr_stacks_folded };

/* ---- the calls and stacks of a call tree that a format shows */

/* Returns for each number whether it is one of the `top` largest (0: all), which are not 0.  Of
 * equal ones at the limit the first are taken. */
static bool *largest(const uint64_t *number, size_t count, size_t top)
{
    uint64_t *sorted = mpr_alloc(count, sizeof *sorted), limit = 0;
    bool *is_one = mpr_alloc(count, sizeof *is_one);
    size_t present = 0, ties = SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        if (number[i]) sorted[present++] = number[i];
    if (top && present > top) {
        qsort(sorted, present, sizeof *sorted, mpr_compare_numbers);
        limit = sorted[present - top];
        ties = 0;
        for (size_t i = present - top; i < present && sorted[i] == limit; i++) ties++;
    }
    for (size_t i = 0; i < count; i++)
        is_one[i] = number[i] && (number[i] > limit || (number[i] == limit && ties && ties--));
    free(sorted);
    return is_one;
}

bool mpr_stacks_continues(const struct mpr_calltree *t, size_t i)
{
    const struct mpr_call *c = &t->call[i];
    return c->parent != i && c->bytes == t->call[c->parent].bytes && i == c->parent + 1;
}

bool *mpr_stacks_shown(const struct mpr_calltree *t, size_t top)
{
    uint64_t *bytes = mpr_alloc(t->calls, sizeof *bytes);
    for (size_t i = 0; i < t->calls; i++)
        bytes[i] = mpr_stacks_continues(t, i) ? 0 : t->call[i].bytes;
    bool *shown = largest(bytes, t->calls, top);
    for (size_t i = 0; i < t->calls; i++)
        if (mpr_stacks_continues(t, i)) shown[i] = shown[t->call[i].parent];
    free(bytes);
    return shown;
}

/* Calls are in preorder, so the calls above one are the last ones of their depths. */
struct mpr_omitted mpr_stacks_each(const struct mpr_calltree *t, size_t top,
                                   void (*each)(void *arg, const struct mpr_calltree *t,
                                                struct mpr_path path, uint64_t bytes,
                                                uint64_t blocks),
                                   void *arg)
{
    struct mpr_omitted omitted = { 0, 0 };
    const struct mpr_frame **path = mpr_alloc(t->calls, sizeof *path);
    uint64_t *bytes = mpr_alloc(t->calls, sizeof *bytes);
    for (size_t i = 0; i < t->calls; i++) bytes[i] = t->call[i].own_bytes;
    bool *shown = largest(bytes, t->calls, top);
    for (size_t i = 0; i < t->calls; i++) {
        const struct mpr_call *c = &t->call[i];
        path[c->depth] = c->frame;
        if (shown[i])
            each(arg, t, (struct mpr_path){ path, c->depth + 1 }, c->own_bytes, c->own_blocks);
        else if (c->own_bytes)
            omitted = (struct mpr_omitted){ omitted.stacks + 1, omitted.bytes + c->own_bytes };
    }
    free(shown);
    free(bytes);
    free(path);
    return omitted;
}
