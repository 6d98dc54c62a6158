/* Finds PyTorch modules with much more memory than their siblings.  A module includes the modules
 * in it: "layers.5" has the blocks of "layers.5.up" and "layers.5.attn.0" and those of its own
 * calls. So it can be an outlier although no line of a table is one.
 *
 * A block belongs to the innermost module call of its Python stack.  Blocks without such a call
 * belong to no module, like gradients, which autograd's threads allocate. */
#ifndef MPR_MODULE_OUTLIERS_H
#define MPR_MODULE_OUTLIERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "row.h"

/* A module ("layers.5") with more than twice the median of its siblings, which have the same path
 * up to the number and are at least three with it. */
struct mpr_module_outlier {
    const char *module;
    uint64_t bytes, blocks;
    bool estimated;                       /* a part is from sampled blocks */
    uint64_t siblings;                    /* number of siblings that are not outliers */
    uint64_t sibling_least, sibling_most; /* bytes of these */
};

/* Finds the outliers in rows of any grouping that exceed the median by a twentieth of `whole`.
 * Returns them in the arena, largest first, and their number in *outliers. */
struct mpr_module_outlier *mpr_module_outliers(struct mpr_arena *arena, const struct mpr_row *row,
                                               size_t rows, uint64_t whole, size_t *outliers);

#endif
