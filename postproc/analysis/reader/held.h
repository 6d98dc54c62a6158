/* What the cells of a heap hold at two instants: at its peak, or the one that stands for it, and
 * after the last event.  Sampled blocks count as what they stand for (estimates.h), where cells are
 * known by call stacks or a sample is all that is recorded, and the cell of what has no stack, or
 * is not recorded, as that much less. */
#ifndef MPR_HELD_H
#define MPR_HELD_H

#include "replay.h"

struct mpr_held {
    uint64_t then, now; /* bytes */
    uint64_t then_blocks, now_blocks;
    uint64_t allocations; /* ever */
    uint64_t own_peak;    /* bytes */
    uint64_t samples;     /* blocks then that were sampled */
    double variance;      /* of `then`, in bytes squared: of what is estimated from samples */
    bool estimated;       /* there ever were such blocks, or it is what they leave */
};

/* Of the heap's cells, by their index in the books; those of other heaps are zeros.  The caller
 * frees it. */
struct mpr_held *mpr_held_heap(const struct mpr_replay *r, uint8_t heap);
/* The same of all heaps of the host's functions, host/heap, host/mmap and host/shm. */
struct mpr_held *mpr_held_host(const struct mpr_replay *r);

#endif
