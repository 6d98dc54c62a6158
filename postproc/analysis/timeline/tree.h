/* The part of the range tree that a result speaks of.  Private to this layer. */
#ifndef MPR_TREE_H
#define MPR_TREE_H

#include "arena.h"
#include "reader.h"
#include "timeline_result.h"

struct mpr_tree {
    struct mpr_arena *arena;
    const struct mpr_reader *reader;
    uint32_t *number;           /* by node: its number in the result + 1 */
    struct mpr_tree_node *node; /* the result's; 0 is the empty path */
    size_t nodes, cap;
};

void mpr_tree_init(struct mpr_tree *tree, struct mpr_arena *arena, const struct mpr_reader *reader);
void mpr_tree_free(struct mpr_tree *tree);
/* The node's number in the result, with its ancestors. */
uint32_t mpr_tree_number(struct mpr_tree *tree, uint32_t node);

#endif
