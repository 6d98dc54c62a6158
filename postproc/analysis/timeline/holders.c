#include "heap_lines.h"
#include "timeline_parts.h"

enum { LISTED = 400 };

void mpr_holders_fill(struct mpr_timeline *t, struct mpr_tree *tree, struct mpr_callers *callers,
                      struct mpr_heap_line *out)
{
    size_t all;
    const struct mpr_holder *held = mpr_heap_lines_holders(out->lines, &all);
    out->holders = all < LISTED ? all : LISTED;
    out->holder = mpr_arena_alloc(&t->arena, out->holders * sizeof *out->holder);
    for (size_t i = 0; i < out->holders; i++) {
        out->holder[i] = held[i];
        out->holder[i].node = mpr_tree_number(tree, held[i].node);
        out->holder[i].python = mpr_callers_python(callers, held[i].python);
        out->holder[i].native = mpr_callers_native(callers, held[i].native);
    }
}
