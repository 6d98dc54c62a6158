#include "tree.h"

#include <stdlib.h>

#include "alloc.h"
#include "labels.h"

void mpr_tree_init(struct mpr_tree *tree, struct mpr_arena *arena, const struct mpr_reader *reader)
{
    const struct mpr_replay *r = &reader->replay;
    *tree =
        (struct mpr_tree){ .arena = arena, .reader = reader, .nodes = 1, .cap = r->ranges.nodes };
    tree->number = mpr_alloc(tree->cap, sizeof *tree->number);
    tree->node = mpr_arena_alloc(arena, tree->cap * sizeof *tree->node);
    tree->node[0] = (struct mpr_tree_node){ 0, &mpr_frame_none };
    tree->number[0] = 1;
}

void mpr_tree_free(struct mpr_tree *tree) { free(tree->number); }

/* From the node up to the first known ancestor, then down again. */
uint32_t mpr_tree_number(struct mpr_tree *tree, uint32_t node)
{
    uint32_t path[MPR_PATH_MAX + 1], depth = 0;
    for (; !tree->number[node]; node = tree->reader->replay.ranges.node[node].parent)
        path[depth++] = node;
    while (depth-- > 0) {
        const uint32_t child = path[depth];
        tree->node[tree->nodes] =
            (struct mpr_tree_node){ tree->number[node] - 1,
                                    mpr_label_frame(tree->arena, tree->reader, child) };
        tree->number[child] = (uint32_t)++tree->nodes;
        node = child;
    }
    return tree->number[node] - 1;
}
