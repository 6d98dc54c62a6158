/* The live table: address of every live block -> its size and cell.
 *
 * Open addressing by cache lines of four places, at most half full: 32 to 64 bytes a block, 96
 * while it grows.  19 of 20 blocks lie in their own line.  Callers prefetch it, so that a batch of
 * events hides the cache misses.
 *
 * Invariants: the taken places of a line are its first ones; a block lies outside of its line only
 * where that and all lines between are full. */
#ifndef MPR_BLOCKS_H
#define MPR_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"

/* What few events need stays out of the way of those that do not. */
#define MPR_COLD __attribute__((noinline, cold))

/* An address in a heap: heaps nest (a tensor inside a device segment), so the same address may be
 * live in two. */
static inline uint64_t mpr_block_key(uint64_t addr, uint8_t heap) { return addr << 8 | heap; }

/* No bit-fields: each would be stored for itself, and who soon loads them all would wait for the
 * store buffer. */
struct mpr_block {
    uint64_t key;  /* 0: an empty place */
    uint64_t what; /* size, cell, and whether it counts in the cell's estimate */
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
    return b->what & ((UINT64_C(1) << MPR_SIZE_BITS) - 1);
}
static inline uint32_t mpr_block_cell(const struct mpr_block *b)
{
    return b->what >> MPR_SIZE_BITS & ((1u << MPR_CELL_BITS) - 1);
}
static inline bool mpr_block_weighed(const struct mpr_block *b)
{
    return b->what >> (MPR_SIZE_BITS + MPR_CELL_BITS);
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
/* The block's place, with its key set: *existed tells whether it was live already.  Valid until the
 * next call. */
struct mpr_block *mpr_blocks_insert(struct mpr_blocks *b, uint64_t key, bool *existed);
/* Takes the block out into *out; false when it is not live. */
bool mpr_blocks_take(struct mpr_blocks *b, uint64_t key, struct mpr_block *out);

/* The line where the block is, unless that is full. */
static inline size_t mpr_blocks_home(const struct mpr_blocks *b, uint64_t key)
{
    return mpr_hash(key) & b->mask;
}

static inline void mpr_blocks_prefetch(const struct mpr_blocks *b, uint64_t key)
{
    __builtin_prefetch(&b->line[mpr_blocks_home(b, key)], 1);
}

#endif
