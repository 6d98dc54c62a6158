/* Who held a heap's peak, by the best name of each block (its range, else its Python stack, else its native one or its library), from
 * cells of MPR_BY_ALL.  Private to this layer. */
#ifndef MPR_HOLDERS_H
#define MPR_HOLDERS_H

#include "callers.h"
#include "tree.h"

/* False without memory. */
bool mpr_holders_fill(struct mpr_timeline *timeline, struct mpr_tree *tree, struct mpr_callers *callers, uint8_t heap, struct mpr_heap_line *out);

#endif
