/* Every heap over time, in buckets, for charts.  An observer of the accounts, and of the estimates
 * if they are given.  Then a cell has three numbers in the series, otherwise one.
 *
 * A bucket has the bytes of every cell (a vector) at the instant of its maximum, so the bands of a
 * chart have an exact sum at every zoom level.  No copy is made at a new maximum: a heap counts its
 * maxima (epoch), and a cell saves its value at its first change after a maximum, as for the peaks.
 * A vector is stored as its differences from the previous one.
 *
 * A bucket is 2^shift ns wide.  It exists only if something changed in it, or if it follows a
 * bucket that does not end with its maximum: then nothing changes in it (quiet).  With shift 0
 * every instant has its own bucket.  Memory is bounded: if a series has too many buckets or
 * changes, the width of its buckets is doubled.
 *
 * Invariant: if there is a gap after a bucket, the bucket is final: its vector holds until the next
 * one. */
#ifndef MPR_LEVELS_H
#define MPR_LEVELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mpr_accounts;
struct mpr_estimates;

/* ---- a heap over time */

struct mpr_bucket {
    uint64_t key;             /* begins at key << shift */
    uint64_t time;            /* ns, of the maximum */
    uint64_t max, min, close; /* bytes; min: without levels of only an instant; close: at its end */
    uint64_t allocs, frees;
    size_t end; /* end of its changes in the series, which begin at the end of the previous ones */
    bool final; /* the maximum is the last state */
};

struct mpr_signed_difference {
    uint32_t group;
    uint64_t bytes;
};

/* The numbers of a cell with estimates. A series has the group cell * MPR_LEVELS_NUMBERS + number;
 * without estimates a group is a cell. */
enum {
    MPR_LEVELS_BYTES,
    MPR_LEVELS_MORE,     /* that its sampled blocks represent beyond themselves */
    MPR_LEVELS_VARIANCE, /* in units of estimates.h */
    MPR_LEVELS_NUMBERS
};

struct mpr_series {
    unsigned shift;
    struct mpr_bucket *bucket;
    size_t buckets, bucket_cap;
    struct mpr_signed_difference *change;
    size_t changes, change_cap;
};

void mpr_series_free(struct mpr_series *s);
void mpr_series_bucket(struct mpr_series *s, const struct mpr_bucket *bucket);
void mpr_series_change(struct mpr_series *s, uint32_t group, uint64_t bytes);
/* Makes buckets 2^by times as wide; 0 joins those with the same key.
 * @upto: ns at which the level after the last bucket ends, or the next bucket begins
 * @place: scratch space, one entry for each group */
void mpr_series_widen(struct mpr_series *s, unsigned by, uint64_t upto, size_t *place);

/* ---- all heaps, during replay */

struct mpr_levels_options {
    uint64_t from, to;                     /* ns: changes outside are ignored */
    size_t buckets, changes;               /* limits for each heap */
    const struct mpr_estimates *estimates; /* or NULL */
};

struct mpr_levels_cell {
    uint64_t epoch;
    bool listed; /* its value may differ from the newest vector */
};

struct mpr_levels_heap {
    struct mpr_series series;
    struct mpr_bucket open; /* the current bucket; key MPR_LEVELS_NONE before the first one */
    uint64_t until;         /* ns: end of the open bucket */
    uint64_t epoch, last;   /* last: time of the newest change */
    uint32_t *listed;       /* cells */
    size_t count, cap;
    bool closed; /* options.to has passed */
};

#define MPR_LEVELS_NONE UINT64_MAX

struct mpr_levels {
    struct mpr_levels_options options;
    const uint64_t *now; /* replay's clock, ns */
    struct mpr_levels_heap level[256];
    struct mpr_levels_cell *cell; /* by the accounts' index */
    size_t cells;
    uint64_t *saved;  /* by group: at the maximum, if the cell's epoch is the heap's */
    uint64_t *stored; /* by group: in the newest vector */
    size_t *place;    /* by group: scratch space of mpr_series_widen */
    size_t groups;
};

struct mpr_levels *mpr_levels_new(const struct mpr_levels_options *options, const uint64_t *now);
void mpr_levels_free(struct mpr_levels *l);
/* Makes room for a cell.  Call before its first change. */
void mpr_levels_reserve(struct mpr_levels *l, uint32_t cell);
/* Saves the value of a cell, and begins a bucket if necessary.  Call before the first change of a
 * cell since a maximum, or in a bucket. */
void mpr_levels_save(struct mpr_levels *l, const struct mpr_accounts *accounts, uint32_t cell,
                     uint8_t heap, uint64_t level);

/* Call before and after each change of a cell of `heap`.  @level: bytes of the heap at that time.
 */
static inline void mpr_levels_before(struct mpr_levels *l, const struct mpr_accounts *accounts,
                                     uint32_t cell, uint8_t heap, uint64_t level)
{
    struct mpr_levels_heap *v = &l->level[heap];
    const uint64_t now = *l->now;
    if (now >= v->until || l->cell[cell].epoch != v->epoch) {
        mpr_levels_save(l, accounts, cell, heap, level);
        return;
    }
    /* A level that lasts only an instant, as when memory is freed and allocated again, is no
     * minimum. */
    if (now > v->last && level < v->open.min) v->open.min = level;
    v->last = now;
}

/* Call before the estimate of a cell changes, which it does before the cell. */
void mpr_levels_before_estimate(struct mpr_levels *l, const struct mpr_accounts *accounts,
                                uint32_t cell);

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
/* Call after the last change. */
void mpr_levels_finish(struct mpr_levels *l, const struct mpr_accounts *accounts);

#endif
