/* When blocks that lived at an instant were made: exact, block by block. */
#ifndef MPR_AGES_H
#define MPR_AGES_H

#include <stddef.h>
#include <stdint.h>

#include "arena.h"

struct mpr_lasting;

struct mpr_ages {
    const uint64_t *made; /* ns since the process's start, the oldest block's first */
    size_t blocks;        /* 0: none, or memory that is counted by pages */
};

/* Of the blocks at the newest mark, in so many cells: out[i] of cell[i]; each cell once.  In the
 * arena; 8 bytes a block. */
void mpr_ages_of(struct mpr_arena *arena, const struct mpr_lasting *lasting, const uint32_t *cell,
                 size_t cells, struct mpr_ages *out);
/* Of all their blocks; in the arena. */
struct mpr_ages mpr_ages_join(struct mpr_arena *arena, const struct mpr_ages *ages, size_t count);

/* When the block was made that half of the blocks are no younger than; of at least one block. */
static inline uint64_t mpr_ages_median(const struct mpr_ages *ages)
{
    return ages->made[(ages->blocks - 1) / 2];
}

#endif
