/* The largest blocks of each heap, with their lifetimes.  An observer of replay.
 *
 * It keeps the largest live blocks of a heap, and the freed blocks that are notable at some time of
 * the run.  Memory and time are bounded: `min_size` rises if too many blocks are live or new, and
 * falls if there is room again.  If most new blocks have sizes from `min_size` to its double, only
 * a sample of these is kept, by address, and all larger ones. */
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
    uint32_t capture; /* number of the graph capture that allocated it, 0 if none */
    bool segment;     /* of PyTorch's allocator, according to the call stack */
    bool mapped;      /* memory with a handle: adjacent blocks may belong together */
};

enum { MPR_LARGE_LIVE = 4096, MPR_LARGE_FREED = 8192, MPR_LARGE_TICK = 1 << 14 };

struct mpr_large_heap {
    uint64_t min_size; /* smaller blocks are ignored */
    uint64_t mask; /* of blocks below twice `min_size`, only those are kept whose address has a hash
                      with 0 in these bits */
    uint64_t kept; /* allocations of blocks that were kept */
    uint64_t kept_limit;    /* if `kept` is larger, fewer blocks are kept from then on */
    uint64_t since, larger; /* kept since the limit was changed, and those of them with at least
                               twice `min_size` */
    struct mpr_large_block *live; /* in no order */
    size_t live_count;
    struct mpr_index number;       /* of live blocks by address: place + 1 */
    struct mpr_large_block *freed; /* when it is full, a quarter is kept */
    size_t freed_count;
};

struct mpr_large {
    const struct mpr_accounts *accounts;
    struct mpr_large_heap *heap[256];
    uint64_t allocations; /* in all heaps, including ignored blocks */
};

struct mpr_large *mpr_large_new(const struct mpr_accounts *accounts);
void mpr_large_free(struct mpr_large *l);
void mpr_large_add(struct mpr_large *l, uint8_t heap, const struct mpr_large_block *block);
void mpr_large_remove(struct mpr_large *l, uint8_t heap, uint64_t addr, uint64_t time,
                      uint32_t freer);
/* Call once in MPR_LARGE_TICK allocations. */
void mpr_large_tick(struct mpr_large *l);
static inline bool mpr_large_is_kept(const struct mpr_large_heap *h, uint64_t addr, uint64_t size)
{
    return size >= h->min_size && (size >= 2 * h->min_size || !(mpr_hash_plain(addr) & h->mask));
}
static inline void mpr_large_allocated(struct mpr_large *l, uint8_t heap,
                                       const struct mpr_large_block *block)
{
    if (!(++l->allocations % MPR_LARGE_TICK)) mpr_large_tick(l);
    if (!l->heap[heap] || mpr_large_is_kept(l->heap[heap], block->addr, block->size))
        mpr_large_add(l, heap, block);
}
static inline void mpr_large_freed(struct mpr_large *l, uint8_t heap, uint64_t addr, uint64_t size,
                                   uint64_t time, uint32_t freer)
{
    if (l->heap[heap] && mpr_large_is_kept(l->heap[heap], addr, size))
        mpr_large_remove(l, heap, addr, time, freer);
}
/* Calls `each` for every kept block of the heap. */
void mpr_large_each(const struct mpr_large *l, uint8_t heap,
                    void (*each)(void *arg, const struct mpr_large_block *block), void *arg);

/* Selects the blocks that are notable at some time.  The run is divided into intervals.  A block's
 * rank is its best rank in any interval in which it was live, by its size or by its size times its
 * lifetime.  Ranks at the heap's peak count more. */
enum { MPR_NOTABLE_INTERVALS = 64 };
/* Moves the `keep` blocks of the best ranks to the front, in no order.
 * @peak: the heap's, ns
 * @now: end of the run, ns */
void mpr_notable_keep(struct mpr_large_block *block, size_t count, size_t keep, uint64_t peak,
                      uint64_t now);

#endif
