/* Blocks of the host of which only counts are known. They have separate cells: malloc's blocks that
 * are not recorded one by one, and blocks of the thinned part of a log.
 *
 * The totals of malloc's blocks are the counters of the threads (SAMPLE_HOST), as of the last time
 * that they were recorded. If samples of these blocks are recorded, they show what was made and
 * freed since. The counters are trusted while the difference may be chance. A difference that
 * cannot be chance is added: otherwise memory that a program allocates just before it is killed
 * would be missing. */
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

struct mpr_counted_totals {
    bool known;                 /* there was a SAMPLE_HOST */
    uint32_t cell;              /* of the accounts */
    uint32_t site;              /* its Python stack is the name of these blocks */
    uint64_t live, live_blocks; /* in the cell */
    uint64_t value[MPF_HOST_COUNT];
    struct mpr_since {
        double bytes, blocks, made; /* represented by samples, without the samples themselves */
        /* Of bytes: of samples that were made and live, and of earlier ones that were freed. */
        double variance;
        struct mpr_index made_live; /* by the block's key: samples that were made and live */
        bool certain;               /* the difference is not chance, and counts */
    } since;                        /* since the counters were recorded */
};

void mpr_counted_totals_free(struct mpr_counted_totals *t);
/* SAMPLE_HOST. */
void mpr_counted_totals_take(struct mpr_replay *r, const struct mpf_event *e);
/* The sampled block of that key, which represents `more`, is made (sign 1) or freed (sign -1). */
void mpr_counted_totals_sampled(struct mpr_counted_totals *t, struct mpr_accounts *accounts,
                                int sign, uint64_t key, const struct mpr_weight *more,
                                uint64_t time);
/* Call after the last event: adds what was made since to the numbers of allocations and frees. */
void mpr_counted_totals_finish(struct mpr_counted_totals *t, struct mpr_accounts *accounts);
/* Returns true if it is the cell of the totals. */
static inline bool mpr_counted_totals_is(const struct mpr_counted_totals *t,
                                         const struct mpr_accounts *accounts,
                                         const struct mpr_cell *cell)
{
    return t->known && cell == &accounts->cell[t->cell];
}

/* ---- thinned parts of a log (FOLDED): how many blocks there were, and what they held at some
 * instants */

struct mpr_thinned_counts {
    uint64_t value[MPF_FOLDED_COUNT];
};
/* Returns the event's values, zeros if it is too short. */
struct mpr_thinned_counts mpr_thinned_counts_of(const struct mpf_event *e);

/* The current number of such blocks in a heap, and their bytes. */
struct mpr_counted_blocks {
    uint64_t bytes, blocks;
};

/* FOLDED. */
void mpr_counted_thinned(struct mpr_replay *r, const struct mpf_event *e);

#endif
