/* Levels of detail: every heap's series, taken while replay runs.  An observer of the books.
 *
 * The vector at a bucket's maximum needs no copy at each new maximum: as for the peaks, an epoch
 * moves on and a cell keeps its value when it first changes after it.  Memory is bounded: a series
 * that has too many buckets or changes doubles the width of its buckets. */
#ifndef MPR_LEVELS_H
#define MPR_LEVELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "series.h"

struct mpr_books;

struct mpr_levels_options {
    uint64_t from, to;       /* ns: what changes outside is not looked at */
    size_t buckets, changes; /* of a heap at most */
};

/* A cell as its heap's series sees it. */
struct mpr_levels_cell {
    uint64_t epoch, saved; /* its bytes at the maximum, when epoch is the level's */
    uint64_t stored;       /* its bytes in the newest vector */
    bool listed;           /* it may differ from that */
};

struct mpr_levels_heap {
    struct mpr_series series;
    struct mpr_bucket open; /* the bucket that now is in; key MPR_LEVELS_NONE: none yet, or none any
                               more */
    uint64_t until;         /* the open bucket takes changes before this; 0: there is none */
    uint64_t epoch, last;   /* time of the newest change */
    uint32_t *listed;
    size_t count, cap;
    bool closed; /* options.to has passed */
};

#define MPR_LEVELS_NONE UINT64_MAX

struct mpr_levels {
    struct mpr_levels_options options;
    const uint64_t *now; /* replay's clock, ns */
    struct mpr_levels_heap level[256];
    struct mpr_levels_cell *cell; /* by the index of the books' */
    size_t *place;                /* scratch of mpr_series_widen, by the same */
    size_t cells;
};

struct mpr_levels *mpr_levels_new(const struct mpr_levels_options *options, const uint64_t *now);
void mpr_levels_free(struct mpr_levels *l);
/* Makes room for a cell: before its first change. */
void mpr_levels_room(struct mpr_levels *l, uint32_t cell);
/* The first change of a cell since a maximum, or of a bucket; before it happens. */
void mpr_levels_note(struct mpr_levels *l, const struct mpr_books *books, uint32_t cell,
                     uint8_t heap, uint64_t level);

/* Called before and after each change of a cell of `heap`, with the heap's bytes then. */
static inline void mpr_levels_before(struct mpr_levels *l, const struct mpr_books *books,
                                     uint32_t cell, uint8_t heap, uint64_t level)
{
    struct mpr_levels_heap *v = &l->level[heap];
    const uint64_t now = *l->now;
    if (now >= v->until || l->cell[cell].epoch != v->epoch) {
        mpr_levels_note(l, books, cell, heap, level);
        return;
    }
    /* what was freed and taken again at one instant is no minimum */
    if (now > v->last && level < v->open.min) v->open.min = level;
    v->last = now;
}

static inline void mpr_levels_after(struct mpr_levels *l, uint8_t heap, uint64_t level, bool grown)
{
    struct mpr_levels_heap *v = &l->level[heap];
    struct mpr_bucket *open = &v->open;
    if (open->key == MPR_LEVELS_NONE) return;
    open->final = !(open->allocs + open->frees) || level > open->max;
    if (open->final) {
        open->max = level;
        open->time = *l->now;
        v->epoch++;
    }
    if (grown) open->allocs++;
    else open->frees++;
}
/* After the last change. */
void mpr_levels_finish(struct mpr_levels *l, const struct mpr_books *books);

#endif
