/* The largest blocks of each heap and how long they lived. An observer of replay.
 *
 * Kept of a heap are the largest live blocks, and of the freed ones those that are notable at some
 * time of the run. Memory and time are bounded: `min_size` rises if too many blocks are live or are
 * made, and falls if there is room again. If most new blocks have sizes from `min_size` to its
 * double, only a sample of those is kept, by address; larger ones are all kept. */
#ifndef MPR_LARGE_H
#define MPR_LARGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "index.h"

struct mpr_accounts;

struct mpr_large_block {
    uint64_t addr, size;
    uint64_t from, to; /* ns; to: UINT64_MAX for a block that is live at the end */
    uint32_t cell;
    uint32_t freer;   /* the thread that freed it; MPR_NOBODY: it is live, or unknown */
    uint32_t capture; /* number of the graph capture it was made in, 0 if none */
    bool segment;     /* of PyTorch's allocator, if the call stack shows that */
    bool mapped;      /* memory with a handle: adjacent blocks may belong together */
};

enum { MPR_LARGE_LIVE = 4096, MPR_LARGE_FREED = 8192, MPR_LARGE_TICK = 1 << 14 };

struct mpr_large_heap {
    uint64_t min_size; /* smaller blocks are ignored */
    /* Blocks of less than twice `min_size` are ignored unless the hash of their address is 0 in
     * these bits. */
    uint64_t mask;
    uint64_t births;        /* blocks that were kept when they were made */
    uint64_t births_limit;  /* number of births above which fewer blocks are to be kept */
    uint64_t since, larger; /* births since that changed; those of at least twice `min_size` */
    struct mpr_large_block *live; /* in no order */
    size_t live_count;
    struct mpr_index number;       /* of live blocks by address: place + 1 */
    struct mpr_large_block *freed; /* once it is full a quarter is kept */
    size_t freed_count;
};

struct mpr_large {
    const struct mpr_accounts *accounts;
    struct mpr_large_heap *heap[256];
    uint64_t seen; /* births in all heaps, including ignored blocks */
};

struct mpr_large *mpr_large_new(const struct mpr_accounts *accounts);
void mpr_large_free(struct mpr_large *l);
void mpr_large_add(struct mpr_large *l, uint8_t heap, const struct mpr_large_block *block);
void mpr_large_end(struct mpr_large *l, uint8_t heap, uint64_t addr, uint64_t time, uint32_t freer);
/* Call once in MPR_LARGE_TICK births. */
void mpr_large_tick(struct mpr_large *l);
static inline bool mpr_large_is_kept(const struct mpr_large_heap *h, uint64_t addr, uint64_t size)
{
    return size >= h->min_size && (size >= 2 * h->min_size || !(mpr_hash_plain(addr) & h->mask));
}
static inline void mpr_large_allocated(struct mpr_large *l, uint8_t heap,
                                       const struct mpr_large_block *block)
{
    if (!(++l->seen % MPR_LARGE_TICK)) mpr_large_tick(l);
    if (!l->heap[heap] || mpr_large_is_kept(l->heap[heap], block->addr, block->size))
        mpr_large_add(l, heap, block);
}
static inline void mpr_large_freed(struct mpr_large *l, uint8_t heap, uint64_t addr, uint64_t size,
                                   uint64_t time, uint32_t freer)
{
    if (l->heap[heap] && mpr_large_is_kept(l->heap[heap], addr, size))
        mpr_large_end(l, heap, addr, time, freer);
}
/* Calls `each` for every kept block of the heap. */
void mpr_large_each(const struct mpr_large *l, uint8_t heap,
                    void (*each)(void *arg, const struct mpr_large_block *block), void *arg);

/* Selects the blocks that are notable at some time. The run is divided into intervals. A block's
 * rank is its best rank in any interval in which it was live, by its size or by its size times its
 * lifetime. At the heap's peak more ranks count. */
enum { MPR_NOTABLE_CELLS = 64 };
/* Moves the `keep` blocks of the best ranks to the front, in no order. @peak, @now: ns; now: end of
 * the run. */
void mpr_notable_keep(struct mpr_large_block *block, size_t count, size_t keep, uint64_t peak,
                      uint64_t now);

#endif
