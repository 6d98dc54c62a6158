/* What libraries told NVTX of their heaps: sums by the heaps' names, and in them by the regions'.
 */
#ifndef MPR_NVTX_SUMS_H
#define MPR_NVTX_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"

struct mpr_replay;

struct mpr_nvtx_sum {
    const char *heap;
    const char *region;           /* NULL: of all of the heap's */
    uint64_t heaps, resets, size; /* of heaps: registered; emptied; their bytes at most */
    uint64_t peak_bytes, peak_blocks, peak_time; /* of regions; at the peak of the heap's row */
    uint64_t end_bytes, end_blocks;
    uint64_t allocations;
};

/* Heaps, the largest peak first; NULL with *count 0: there are none. */
const struct mpr_nvtx_sum *mpr_nvtx_heaps(struct mpr_arena *arena, const struct mpr_replay *r,
                                          size_t *count);
/* Named regions, and the rest of heaps that have some; likewise. */
const struct mpr_nvtx_sum *mpr_nvtx_regions(struct mpr_arena *arena, const struct mpr_replay *r,
                                            size_t *count);

#endif
