/* The bytes and blocks of cells at two instants: at their heap's peak, or at the selected
 * instant that replaces it, and after the last event.
 *
 * A sampled block counts for all blocks that it represents (estimates.h), if cells are grouped
 * by call stacks or if only a sample is recorded. The represented blocks have no stack or no
 * record. The cell with such blocks, called the remainder, is reduced accordingly. */
#ifndef MPR_CELL_TOTALS_H
#define MPR_CELL_TOTALS_H

#include "replay.h"

struct mpr_cell_totals {
    uint64_t bytes, end_bytes;
    uint64_t blocks, end_blocks;
    uint64_t allocations;
    uint64_t own_peak;            /* bytes */
    uint64_t samples;             /* sampled blocks at the peak */
    struct mpr_variance variance; /* of `bytes` */
    bool estimated;               /* the cell has sampled blocks, or is the remainder */
};

/* Returns an array by cell of the accounts, with zeros for cells of other heaps. The caller
 * frees it. */
struct mpr_cell_totals *mpr_cell_totals_heap(const struct mpr_replay *r, uint8_t heap);
/* The same for all heaps of the host: host/heap, host/mmap and host/shm. */
struct mpr_cell_totals *mpr_cell_totals_host(const struct mpr_replay *r);

#endif
