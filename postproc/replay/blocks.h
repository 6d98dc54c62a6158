/* The live table: the size and cell of every live block, by address.
 *
 * Open addressing by cache lines of four places, at most half full: 32 to 64 bytes a block, and 96
 * while the table grows.  19 of 20 blocks are in their home line.  Callers prefetch that line for
 * all events of a batch, which hides the cache misses.
 *
 * Invariants: the used places of a line are its first ones; a block is outside its home line only
 * if that line and all lines between are full. */
#ifndef MPR_BLOCKS_H
#define MPR_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "index.h"

/* For functions that few events need, so that their code is not between that of the others. */
#define MPR_COLD __attribute__((noinline, cold))

/* An address in a heap.  The same address may be live in two heaps: that of a tensor, and that of
 * the device segment that contains it. */
static inline uint64_t mpr_block_key(uint64_t addr, uint8_t heap) { return addr << 8 | heap; }

/* No bit-fields: each would be stored separately, and a load of all of them soon after would wait
 * for the store buffer. */
struct mpr_block {
    uint64_t key;    /* 0: an empty place */
    uint64_t packed; /* size, cell, and whether it counts in the cell's estimate */
};

enum { MPR_SIZE_BITS = 40, MPR_CELL_BITS = 23 }; /* MPF_SIZE_MAX, MPR_CELLS_MAX */

static inline struct mpr_block mpr_block_of(uint64_t key, uint64_t size, uint32_t cell,
                                            bool weighed)
{
    return (struct mpr_block){ key, size | (uint64_t)cell << MPR_SIZE_BITS |
                                        (uint64_t)weighed << (MPR_SIZE_BITS + MPR_CELL_BITS) };
}
static inline uint64_t mpr_block_size(const struct mpr_block *b)
{
    return b->packed & ((UINT64_C(1) << MPR_SIZE_BITS) - 1);
}
static inline uint32_t mpr_block_cell(const struct mpr_block *b)
{
    return b->packed >> MPR_SIZE_BITS & ((1u << MPR_CELL_BITS) - 1);
}
static inline bool mpr_block_weighed(const struct mpr_block *b)
{
    return b->packed >> (MPR_SIZE_BITS + MPR_CELL_BITS);
}

enum { MPR_LINE = 4 };
struct mpr_block_line {
    struct mpr_block at[MPR_LINE];
};

struct mpr_blocks {
    struct mpr_block_line *line;
    size_t mask, live, limit;
};

void mpr_blocks_init(struct mpr_blocks *b);
void mpr_blocks_free(struct mpr_blocks *b);
/* Returns the block's place with its key set, and in *existed whether it was live already. The
 * place is valid until the next call. */
struct mpr_block *mpr_blocks_insert(struct mpr_blocks *b, uint64_t key, bool *existed);
/* Moves the block into *out. Returns false if it is not live. */
bool mpr_blocks_take(struct mpr_blocks *b, uint64_t key, struct mpr_block *out);

/* Returns the line in which the block is, unless that line is full. */
static inline size_t mpr_blocks_home(const struct mpr_blocks *b, uint64_t key)
{
    return mpr_hash(key) & b->mask;
}

static inline void mpr_blocks_prefetch(const struct mpr_blocks *b, uint64_t key)
{
    __builtin_prefetch(&b->line[mpr_blocks_home(b, key)], 1);
}

#endif
