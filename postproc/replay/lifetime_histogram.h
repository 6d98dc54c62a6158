/* Lifetimes of blocks: for each cell, a histogram of the lifetimes of its freed blocks, and the
 * bytes of all its blocks.  An observer of replay, which sees only blocks: memory that is counted
 * by pages (host/mmap, host/shm) has none.
 *
 * Counts are exact, and lifetimes are kept by class.  Memory: that of live_index.h, and about 400
 * bytes for each cell with freed blocks. */
#ifndef MPR_LIFETIME_HISTOGRAM_H
#define MPR_LIFETIME_HISTOGRAM_H

#include <stdint.h>

#include "live_index.h"

/* Class 0 is 0 ns, class n is from 2^(n-1) ns to below 2^n. The last one has no upper bound. */
enum { MPR_LIFE_CLASSES = 48 };

struct mpr_cell_lifetimes {
    uint64_t allocations, bytes; /* number and bytes of all blocks */
    uint64_t frees;
    uint64_t temporary, temporary_bytes; /* blocks that lived at most `within` */
    uint64_t *life;                      /* MPR_LIFE_CLASSES counts, or NULL if none was freed */
};

struct mpr_lifetime_histogram {
    uint64_t within; /* ns */
    struct mpr_cell_lifetimes *cell;
    uint32_t cells;
    struct mpr_live_index live;
    uint32_t marks;
    struct mpr_live_block *freed; /* blocks that were live at the newest mark and were freed since
                                   */
    uint32_t freed_count, freed_cap;
};

void mpr_lifetime_histogram_free(struct mpr_lifetime_histogram *lifetimes);
/* @key: of blocks.h. */
void mpr_lifetime_histogram_add(struct mpr_lifetime_histogram *lifetimes, uint64_t key,
                                uint64_t size, uint32_t cell, uint64_t time);
void mpr_lifetime_histogram_remove(struct mpr_lifetime_histogram *lifetimes, uint64_t key,
                                   uint64_t size, uint64_t time);
/* Marks the blocks that are live now, and forgets the previous mark. */
void mpr_lifetime_histogram_mark(struct mpr_lifetime_histogram *lifetimes);
/* Calls `each` for every marked block, in no order, also if it was freed later. */
void mpr_lifetime_histogram_each_marked(const struct mpr_lifetime_histogram *lifetimes,
                                        void (*each)(void *arg, const struct mpr_live_block *block),
                                        void *arg);
/* Returns the values of a cell, zeros if it had no blocks. */
struct mpr_cell_lifetimes mpr_lifetime_histogram_of(const struct mpr_lifetime_histogram *lifetimes,
                                                    uint32_t cell);

#endif
