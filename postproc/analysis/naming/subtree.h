/* Modules of PyTorch that hold much more than those beside them, all that lives below each in one
 * sum: "layers.5" of "layers.5.up", "layers.5.attn.0" and what layers.5 itself called.
 *
 * A line of a table may be usual while the module that it is a part of is not, and a module's
 * memory lies in as many lines as it has calls.  Whose module a block is of, the innermost module's
 * call of its Python stack tells; what has no such call (gradients, which autograd's threads make)
 * is nobody's. */
#ifndef MPR_SUBTREE_H
#define MPR_SUBTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "row.h"

/* "layers.5": over twice the median of at least three modules of one path up to its number. */
struct mpr_subtree {
    const char *module;
    uint64_t bytes, blocks;
    bool estimated;                                 /* in part, from sampled blocks */
    uint64_t siblings, sibling_least, sibling_most; /* that do not stand out: how many, and bytes */
};

/* Of rows of any grouping, those that stand out by at least a twentieth of `whole`, largest first;
 * in the arena. */
struct mpr_subtree *mpr_subtrees(struct mpr_arena *arena, const struct mpr_row *row, size_t rows,
                                 uint64_t whole, size_t *subtrees);

#endif
