/* Levels of detail: every heap's series, taken while replay runs.  An observer of the books.
 *
 * The vector at a bucket's maximum needs no copy at each new maximum: as for the peaks, an epoch moves on and a cell
 * keeps its value when it first changes after it.  Memory is bounded: a series that has too many buckets or changes
 * doubles the width of its buckets. */
#ifndef MPR_LEVELS_H
#define MPR_LEVELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "series.h"

struct mpr_books;

struct mpr_levels_options {
    uint64_t from, to;          /* ns: what changes outside is not looked at */
    size_t buckets, changes;    /* of a heap at most */
};

/* A cell as its heap's series sees it. */
struct mpr_levels_cell {
    uint64_t epoch, saved;      /* its bytes at the maximum, when epoch is the level's */
    uint64_t stored;            /* its bytes in the newest vector */
    bool listed;                /* it may differ from that */
};

struct mpr_levels_heap {
    struct mpr_series series;
    struct mpr_bucket open;     /* the bucket that now is in; key MPR_LEVELS_NONE: none yet */
    uint64_t epoch, last;       /* time of the newest change */
    uint32_t *listed;
    size_t count, cap;
    bool closed;                /* options.to has passed */
};

#define MPR_LEVELS_NONE UINT64_MAX

struct mpr_levels {
    struct mpr_levels_options options;
    const uint64_t *now;        /* replay's clock, ns */
    struct mpr_levels_heap level[256];
    struct mpr_levels_cell *cell;       /* by the index of the books' */
    size_t *place;                      /* scratch of mpr_series_widen, by the same */
    size_t cells;
    bool failed;                        /* no memory: the series are not to be used */
};

struct mpr_levels *mpr_levels_new(const struct mpr_levels_options *options, const uint64_t *now);    /* NULL without memory */
void mpr_levels_free(struct mpr_levels *l);
/* Called before and after each change of a cell: the books are as they were, and as they are. */
void mpr_levels_before(struct mpr_levels *l, const struct mpr_books *books, uint32_t cell);
void mpr_levels_after(struct mpr_levels *l, uint8_t heap, uint64_t bytes, bool grown);
/* After the last change. */
void mpr_levels_finish(struct mpr_levels *l, const struct mpr_books *books);

#endif
