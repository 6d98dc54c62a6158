/* Modules of PyTorch that hold much more than their siblings.  A module's sum has all blocks below
 * it: "layers.5" includes "layers.5.up", "layers.5.attn.0" and the calls of layers.5 itself.
 *
 * A module's memory is in as many table lines as it has calls, so it can be an outlier although
 * none of its lines is.  A block belongs to the innermost module call of its Python stack.  Blocks
 * without such a call belong to no module: gradients, which autograd's threads allocate. */
#ifndef MPR_MODULE_OUTLIERS_H
#define MPR_MODULE_OUTLIERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "row.h"

/* "layers.5": over twice the median of at least three modules of one path up to its number. */
struct mpr_module_outlier {
    const char *module;
    uint64_t bytes, blocks;
    bool estimated;                                 /* in part, from sampled blocks */
    uint64_t siblings, sibling_least, sibling_most; /* that do not stand out: how many, and bytes */
};

/* Of rows of any grouping, those that stand out by at least a twentieth of `whole`, largest first;
 * in the arena. */
struct mpr_module_outlier *mpr_module_outliers(struct mpr_arena *arena, const struct mpr_row *row,
                                               size_t rows, uint64_t whole, size_t *subtrees);

#endif
