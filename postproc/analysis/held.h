/* What the cells of a heap hold at two instants: at its peak, or the one that stands for it, and
 * after the last event.  Sampled blocks count as what they stand for (estimates.h), and the cell of
 * what has no stack as that much less. */
#ifndef MPR_HELD_H
#define MPR_HELD_H

#include "replay.h"

struct mpr_held {
    uint64_t then, now; /* bytes */
    bool estimated;
};

/* Into held, which has a place for each cell of the books: those of other heaps stay. */
void mpr_held_heap(struct mpr_held *held, const struct mpr_replay *r, uint8_t heap);

#endif
