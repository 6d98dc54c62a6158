/* The live table: address of every live block -> its size and cell.
 *
 * Open addressing, linear probing, at most half full: 32 to 64 bytes a block, 96 while it grows.  Callers prefetch, so
 * that a batch of events hides the cache misses. */
#ifndef MPR_BLOCKS_H
#define MPR_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"

/* An address in a heap: heaps nest (a tensor inside a device segment), so the same address may be live in two. */
static inline uint64_t mpr_block_key(uint64_t addr, uint8_t heap) { return addr << 8 | heap; }

struct mpr_block {
    uint64_t key;           /* 0: an empty place */
    uint64_t size : 40;     /* at most MPF_SIZE_MAX */
    uint64_t cell : 23;     /* MPR_CELLS_MAX */
    uint64_t weighed : 1;   /* it counts in the cell's estimate */
};

struct mpr_blocks {
    struct mpr_block *at;
    size_t mask, live, limit;
};

int mpr_blocks_init(struct mpr_blocks *b);      /* 0, or -1 without memory */
void mpr_blocks_free(struct mpr_blocks *b);
/* The block's place, with its key set: *existed tells whether it was live already.  Valid until the next call; NULL
 * without memory. */
struct mpr_block *mpr_blocks_insert(struct mpr_blocks *b, uint64_t key, bool *existed);
/* Takes the block out into *out; false when it is not live. */
bool mpr_blocks_take(struct mpr_blocks *b, uint64_t key, struct mpr_block *out);

/* Where the block is, if nothing is in its way. */
static inline size_t mpr_blocks_home(const struct mpr_blocks *b, uint64_t key)
{
    return mpr_hash(key) & b->mask;
}

static inline void mpr_blocks_prefetch(const struct mpr_blocks *b, uint64_t key)
{
    __builtin_prefetch(&b->at[mpr_blocks_home(b, key)], 1);
}

#endif
