/* Levels of detail: every heap over time, in buckets, recorded while replay runs. An observer of
 * the accounts, and of the estimates if these are given. Then a cell has three groups of numbers
 * in the series, otherwise one.
 *
 * A bucket has the vector (bytes of every cell) at the instant of its maximum, so that the bands of
 * a chart always sum to an exact total at every zoom level. No copy is made at a new maximum: as
 * for the peaks, an epoch moves on and a cell saves its value at its first change after that. A
 * vector is stored as its changes against the previous one.
 *
 * A bucket is 2^shift ns wide. It exists only if something changed in it, or if the level after the
 * previous bucket is not the one at that bucket's maximum: then a quiet bucket follows. With shift
 * 0 every change has its own bucket. Memory is bounded: a series with too many buckets or changes
 * doubles the width of its buckets.
 *
 * Invariant: if the next bucket's key is not the following one, the bucket is final: its vector
 * holds until then. */
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
    uint64_t max, min, close; /* bytes; min: of levels that lasted; close: at its end */
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
/* Makes buckets 2^by times as wide; 0 joins those with the same key. @upto: ns at which the level
 * after the last bucket ends, or the next bucket begins. @place: scratch space, one entry for each
 * group. */
void mpr_series_widen(struct mpr_series *s, unsigned by, uint64_t upto, size_t *place);

/* ---- all heaps, during replay */

struct mpr_levels_options {
    uint64_t from, to;                     /* ns: changes outside are ignored */
    size_t buckets, changes;               /* limits for each heap */
    const struct mpr_estimates *estimates; /* or NULL */
};

struct mpr_levels_cell {
    uint64_t epoch;
    bool listed; /* it may differ from the newest vector */
};

struct mpr_levels_heap {
    struct mpr_series series;
    struct mpr_bucket open; /* the current bucket; its key is MPR_LEVELS_NONE before the first one
                             */
    uint64_t until;         /* the open bucket takes changes before this time, ns */
    uint64_t epoch, last;   /* last: time of the newest change */
    uint32_t *listed;
    size_t count, cap;
    bool closed; /* options.to is over */
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
/* Makes room for a cell. Call before its first change. */
void mpr_levels_room(struct mpr_levels *l, uint32_t cell);
/* Call before the first change of a cell since a maximum, or in a bucket. */
void mpr_levels_note(struct mpr_levels *l, const struct mpr_accounts *accounts, uint32_t cell,
                     uint8_t heap, uint64_t level);

/* Call before and after each change of a cell of `heap`. @level: bytes of the heap then. */
static inline void mpr_levels_before(struct mpr_levels *l, const struct mpr_accounts *accounts,
                                     uint32_t cell, uint8_t heap, uint64_t level)
{
    struct mpr_levels_heap *v = &l->level[heap];
    const uint64_t now = *l->now;
    if (now >= v->until || l->cell[cell].epoch != v->epoch) {
        mpr_levels_note(l, accounts, cell, heap, level);
        return;
    }
    /* Memory that is freed and allocated again at one instant makes no minimum. */
    if (now > v->last && level < v->open.min) v->open.min = level;
    v->last = now;
}

/* Call before an estimate of a cell changes, which is before the cell itself changes. */
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
