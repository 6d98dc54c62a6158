/* Blocks of host memory that are only counted, in separate cells: malloc's blocks that are not
 * recorded one by one, and blocks of the thinned part of a log.
 *
 * In a log whose sums are estimates (host.sums), no block is counted: the totals are the blocks
 * that the live samples represent. The remainder of this comment is about other logs.
 *
 * The totals of malloc's blocks are the counters of the threads (SAMPLE_HOST) when they were
 * recorded last.  If blocks are sampled, the samples show how the totals have changed since then.
 * A change that may be chance is ignored.  A larger one is added, because otherwise memory that a
 * program allocates just before it is killed would be missing. */
#ifndef MPR_COUNTED_H
#define MPR_COUNTED_H

#include <stdbool.h>
#include <stdint.h>

#include "estimates.h"
#include "index.h"
#include "mpf/event.h"
#include "mpf/sample.h"

struct mpr_replay;

/* ---- totals of malloc's blocks */

struct mpr_counted_blocks {
    uint64_t bytes, blocks;
};

struct mpr_counted_totals {
    bool known;                     /* there was a SAMPLE_HOST, or a sample of a log without it */
    uint32_t cell;                  /* of the accounts */
    uint32_t site;                  /* its Python stack is the name of these blocks */
    struct mpr_counted_blocks live; /* in the cell */
    uint64_t value[MPF_HOST_COUNT];
    struct mpr_since {
        double bytes, blocks, made; /* represented by samples, without the samples themselves */
        double variance;            /* of `bytes` */
        struct mpr_index made_live; /* by key: sampled blocks that were allocated since then and are
                                       live */
        bool certain;               /* the change is too large to be chance, so it counts */
    } since;                        /* changes since the counters were recorded */
};

void mpr_counted_totals_free(struct mpr_counted_totals *t);
/* SAMPLE_HOST. */
void mpr_counted_totals_take(struct mpr_replay *r, const struct mpf_event *e);
/* A sampled block that represents @more is allocated (@sign: 1) or freed (-1). */
void mpr_counted_totals_sampled(struct mpr_replay *r, int sign, uint64_t key,
                                const struct mpr_weight *more);
/* Call after the last event: adds the changes to the numbers of allocations and frees. */
void mpr_counted_totals_finish(struct mpr_counted_totals *t, struct mpr_accounts *accounts);
/* Returns true if it is the cell of the totals. */
static inline bool mpr_counted_totals_is(const struct mpr_counted_totals *t,
                                         const struct mpr_accounts *accounts,
                                         const struct mpr_cell *cell)
{
    return t->known && cell == &accounts->cell[t->cell];
}

/* ---- blocks that were allocated before memprof was attached */

#define MPR_BEFORE_NAME "(allocated before the attach)"

struct mpr_before {
    bool known;                     /* their bytes at the attach are known */
    uint32_t cell;                  /* of the accounts */
    uint32_t site;                  /* its Python stack is the name of these blocks */
    struct mpr_counted_blocks live; /* in the cell; their number is not known */
    uint64_t freed;                 /* bytes of blocks that were freed one by one */
};

/* Call before the first event. */
void mpr_before_begin(struct mpr_replay *r);
/* Such a block of this many bytes was freed. */
void mpr_before_freed(struct mpr_replay *r, uint64_t bytes);

/* ---- thinned parts of a log (FOLDED): how many blocks there were, and what they held at some
 * instants */

struct mpr_thinned_counts {
    uint64_t value[MPF_FOLDED_COUNT];
};
/* Returns the event's values, zeros if it is too short. */
struct mpr_thinned_counts mpr_thinned_counts_of(const struct mpf_event *e);

/* FOLDED. */
void mpr_counted_thinned(struct mpr_replay *r, const struct mpf_event *e);

#endif
