/* The largest blocks of each heap and how long they lived, around the heap's peak.  An observer of replay.
 *
 * Kept of a heap: the largest blocks that are live; of those that are gone, the newest that ended before the peak, all
 * that were live at it, and the first that came and went after it.  A new peak makes what is kept its past.  Memory is
 * bounded: with too many live blocks the smaller half is no longer looked at; nor is it where most of a log is one
 * heap's blocks, which would cost more than they tell. */
#ifndef MPR_LARGE_H
#define MPR_LARGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mpr_books;

struct mpr_large_block {
    uint64_t addr, size;
    uint64_t from, to;          /* ns; to UINT64_MAX: live at the end */
    uint32_t cell;
    bool mapped;                /* memory with a handle: neighbours may belong together */
};

enum { MPR_LARGE_LIVE = 4096, MPR_LARGE_PAST = 2048, MPR_LARGE_AFTER = 1024 };

struct mpr_large_heap {
    uint64_t least;             /* smaller blocks are not looked at */
    uint64_t births;            /* that were, since `least` was raised */
    uint64_t epoch;             /* of the books' heap when the lists were made */
    struct mpr_large_block *live;       /* open addressing by address; size 0: an empty place */
    size_t lives;
    struct mpr_large_block *past;       /* a ring: ended before the peak */
    size_t pasts;               /* so far: the next goes to pasts % MPR_LARGE_PAST */
    struct mpr_large_block *at_peak;    /* ended after it, live at it */
    size_t at_peaks;
    struct mpr_large_block *after;      /* began after it */
    size_t afters;
};

struct mpr_large {
    const struct mpr_books *books;
    struct mpr_large_heap *heap[256];
    uint64_t seen;              /* births in all heaps, looked at or not */
    bool failed;
};

struct mpr_large *mpr_large_new(const struct mpr_books *books);         /* NULL without memory */
void mpr_large_free(struct mpr_large *l);
void mpr_large_add(struct mpr_large *l, uint8_t heap, const struct mpr_large_block *block);
void mpr_large_end(struct mpr_large *l, uint8_t heap, uint64_t addr, uint64_t time);
static inline void mpr_large_born(struct mpr_large *l, uint8_t heap, const struct mpr_large_block *block)
{
    l->seen++;
    if (!l->heap[heap] || block->size >= l->heap[heap]->least) mpr_large_add(l, heap, block);
}
static inline void mpr_large_gone(struct mpr_large *l, uint8_t heap, uint64_t addr, uint64_t size, uint64_t time)
{
    if (l->heap[heap] && size >= l->heap[heap]->least) mpr_large_end(l, heap, addr, time);
}
/* Calls each with every block of the heap that is kept. */
void mpr_large_each(const struct mpr_large *l, uint8_t heap,
                    void (*each)(void *arg, const struct mpr_large_block *block), void *arg);

#endif
