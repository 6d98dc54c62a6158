/* The blocks of a heap that stand out at some time, from what replay kept.  Private to this layer. */
#ifndef MPR_LIFETIMES_H
#define MPR_LIFETIMES_H

#include "callers.h"
#include "large.h"
#include "tree.h"

/* False without memory. */
bool mpr_lifetimes_fill(struct mpr_timeline *timeline, struct mpr_tree *tree, struct mpr_callers *callers,
                        const struct mpr_large *large, uint8_t heap, struct mpr_heap_line *out);

#endif
