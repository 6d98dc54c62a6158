/* Parts of the result of ranks.  Private to this layer. */
#ifndef MPR_RANKS_PARTS_H
#define MPR_RANKS_PARTS_H

#include "ranks.h"

/* Which processes stand for ranks; who is missing, and who is there twice. */
void mpr_ranks_choose(struct mpr_ranks *ranks, const struct mpr_digest *digest, size_t digests);
/* Which ranks share communicators; what these tell ranks apart by. */
void mpr_ranks_share(struct mpr_ranks *ranks);
void mpr_ranks_split(struct mpr_ranks *ranks);
/* What is compared, and who lies apart. */
void mpr_ranks_measure(struct mpr_ranks *ranks);
/* Why: causes of each outlier. */
void mpr_ranks_explain(struct mpr_ranks *ranks);
/* Clocks of nodes; then wall times. */
void mpr_ranks_align(struct mpr_ranks *ranks);
/* By node and by communicator. */
void mpr_ranks_gather(struct mpr_ranks *ranks);
void mpr_ranks_heat(struct mpr_ranks *ranks);

/* Finds the measure's stages, and the ranks that lie apart in theirs, or from all. */
void mpr_ranks_judge(struct mpr_ranks *ranks, size_t measure);

/* "{0..7}"; places in the list where ranks have no numbers. */
const char *mpr_ranks_set(struct mpr_ranks *r, const size_t *rank, size_t ranks);
/* The heap of that kind with the largest peak; NULL: the rank has none. */
const struct mpr_digest_heap *mpr_ranks_heap(const struct mpr_digest *digest, unsigned kind);
/* The device that is used most; NULL: none is known. */
const struct mpr_digest_device *mpr_ranks_device(const struct mpr_digest *digest);

#endif
