/* Parts of the result of ranks, in the order in which ranks.c calls them.  Private to ranks*.c. */
#ifndef MPR_RANKS_PARTS_H
#define MPR_RANKS_PARTS_H

#include "ranks.h"

/* ranks_choose.c: finds the process of each rank, missing ranks, and ranks that two processes
 * claim; then the clocks of nodes, with which it corrects wall times. */
void mpr_ranks_choose(struct mpr_ranks *ranks, const struct mpr_digest *digest, size_t digests);
void mpr_ranks_correct_clocks(struct mpr_ranks *ranks);

/* ranks_groups.c: finds the ranks that share communicators, and the partitions of the ranks by
 * these; after the measures, the values of nodes and groups. */
void mpr_ranks_share(struct mpr_ranks *ranks);
void mpr_ranks_split(struct mpr_ranks *ranks);
void mpr_ranks_gather(struct mpr_ranks *ranks);
/* Returns "{0..7}", with places in the list if ranks have no numbers. */
const char *mpr_ranks_set(struct mpr_ranks *r, const size_t *rank, size_t ranks);

/* Returns true if the two ranks differ in a measure by at least 1 % of the larger one's largest
 * peak, and by 64 MiB or a tenth of it.  Smaller differences are not reported (ranks_measure.c). */
bool mpr_ranks_differ(const struct mpr_ranks *ranks, size_t measure, size_t a, size_t b);

/* ranks_measure.c: compares the ranks and finds outliers; ranks_explain.c: finds their causes. */
void mpr_ranks_measure(struct mpr_ranks *ranks);
void mpr_ranks_explain(struct mpr_ranks *ranks);
/* Returns the heap of that kind with the largest peak, or NULL. */
const struct mpr_digest_heap *mpr_ranks_heap(const struct mpr_digest *digest, unsigned kind);
/* Returns the device on which the rank allocated most, or NULL if its use is unknown. */
const struct mpr_digest_device *mpr_ranks_device(const struct mpr_digest *digest);

#endif
