/* The bytes and blocks of cells at two instants: at their heap's peak, or the instant that replaces
 * it, and after the last event.
 *
 * If cells are known by call stacks, or if only a sample is recorded, sampled blocks count for all
 * blocks that they represent (estimates.h). The cell of blocks without a stack or record, the rest,
 * has that much less. */
#ifndef MPR_CELL_TOTALS_H
#define MPR_CELL_TOTALS_H

#include "replay.h"

struct mpr_cell_totals {
    uint64_t then, now; /* bytes */
    uint64_t then_blocks, now_blocks;
    uint64_t allocations;         /* ever */
    uint64_t own_peak;            /* bytes */
    uint64_t samples;             /* sampled blocks at that instant */
    struct mpr_variance variance; /* of `then` */
    bool estimated;               /* the cell had sampled blocks, or is the rest */
};

/* Returns an array by cell of the accounts, with zeros for cells of other heaps.  The caller frees
 * it.
 */
struct mpr_cell_totals *mpr_cell_totals_heap(const struct mpr_replay *r, uint8_t heap);
/* The same for all heaps of the host: host/heap, host/mmap and host/shm. */
struct mpr_cell_totals *mpr_cell_totals_host(const struct mpr_replay *r);

#endif
