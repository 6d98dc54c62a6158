/* The largest blocks of each heap and how long they lived.  An observer of replay.
 *
 * Kept of a heap: the largest blocks that are live, and of those that are gone the ones that stand
 * out at some time of the run (notable.c).  Memory and time are bounded: `least` rises where too
 * many blocks live or come, and falls where there is room again.  Where most blocks that come are
 * of the sizes from `least` to its double, a sample of those is looked at, by address; larger ones
 * all are. */
#ifndef MPR_LARGE_H
#define MPR_LARGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hash.h"
#include "index.h"

struct mpr_books;

struct mpr_large_block {
    uint64_t addr, size;
    uint64_t from, to; /* ns; to UINT64_MAX: live at the end */
    uint32_t cell;
    uint32_t freer;   /* the thread that gave it back; MPR_NOBODY of ledger.h: none, or not known */
    uint32_t capture; /* of a graph, that it was made in (gpu.h); 0: none */
    bool segment;     /* of PyTorch's allocator, as far as its maker tells */
    bool mapped;      /* memory with a handle: neighbours may belong together */
};

enum { MPR_LARGE_LIVE = 4096, MPR_LARGE_GONE = 8192, MPR_LARGE_TICK = 1 << 14 };

struct mpr_large_heap {
    uint64_t least; /* smaller blocks are not looked at */
    uint64_t mask;  /* of an address's hash: other blocks of less than twice `least` are not, either
                     */
    uint64_t births;              /* that were */
    uint64_t patience;            /* with more births than this, too many are looked at */
    uint64_t since, larger;       /* births since then, and those of at least twice `least` */
    struct mpr_large_block *live; /* in no order */
    size_t lives;
    struct mpr_index number;      /* of them by address: place + 1 */
    struct mpr_large_block *gone; /* with too many, a quarter of them stays */
    size_t gones;
};

struct mpr_large {
    const struct mpr_books *books;
    struct mpr_large_heap *heap[256];
    uint64_t seen; /* births in all heaps, looked at or not */
};

struct mpr_large *mpr_large_new(const struct mpr_books *books);
void mpr_large_free(struct mpr_large *l);
void mpr_large_add(struct mpr_large *l, uint8_t heap, const struct mpr_large_block *block);
void mpr_large_end(struct mpr_large *l, uint8_t heap, uint64_t addr, uint64_t time, uint32_t freer);
/* Once in MPR_LARGE_TICK births. */
void mpr_large_tick(struct mpr_large *l);
static inline bool mpr_large_looks(const struct mpr_large_heap *h, uint64_t addr, uint64_t size)
{
    return size >= h->least && (size >= 2 * h->least || !(mpr_hash_plain(addr) & h->mask));
}
static inline void mpr_large_born(struct mpr_large *l, uint8_t heap,
                                  const struct mpr_large_block *block)
{
    if (!(++l->seen % MPR_LARGE_TICK)) mpr_large_tick(l);
    if (!l->heap[heap] || mpr_large_looks(l->heap[heap], block->addr, block->size))
        mpr_large_add(l, heap, block);
}
static inline void mpr_large_gone(struct mpr_large *l, uint8_t heap, uint64_t addr, uint64_t size,
                                  uint64_t time, uint32_t freer)
{
    if (l->heap[heap] && mpr_large_looks(l->heap[heap], addr, size))
        mpr_large_end(l, heap, addr, time, freer);
}
/* Calls each with every block of the heap that is kept. */
void mpr_large_each(const struct mpr_large *l, uint8_t heap,
                    void (*each)(void *arg, const struct mpr_large_block *block), void *arg);

/* Which of very many blocks a report keeps: those that stand out at some time.  The run is a grid
 * of cells of time.  A block's rank is the best that it has in any cell in which it was live, by
 * its size or by its size times its life; at the heap's peak the ranks go deeper. */
enum { MPR_NOTABLE_CELLS = 64 };
/* Moves the `keep` blocks of the best ranks to the front, in no order; now: the run's end, ns. */
void mpr_notable_keep(struct mpr_large_block *block, size_t count, size_t keep, uint64_t peak,
                      uint64_t now);

#endif
