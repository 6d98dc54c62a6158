/* Of several runs, as the ranks of one job are: the one that differs most from what is the middle
 * of them, and who is that. */
#ifndef MPR_OUTLIER_H
#define MPR_OUTLIER_H

#include "timeline_result.h"

struct mpr_outlier {
    size_t median, outlier; /* numbers of runs */
    uint8_t heap; /* the heap whose peaks differ most, with the number of the outlier's GPU */
};

/* Which of the runs are compared: those of ranks, one a rank; where there are none those that one
 * process started, without itself, or those that none of them started, whichever are more.  `alike`
 * has room for all. */
void mpr_outlier_alike(const struct mpr_timeline *run, size_t runs, bool *alike);

/* Of these, by the heap in which one is farthest away in bytes, and by more than a twentieth.
 * False: none is, or there are fewer than three. */
bool mpr_outlier_find(const struct mpr_timeline *run, size_t runs, struct mpr_outlier *out);

#endif
