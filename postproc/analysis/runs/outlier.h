/* The run that differs most from the median of several runs, such as the ranks of a job. */
#ifndef MPR_OUTLIER_H
#define MPR_OUTLIER_H

#include "timeline.h"

struct mpr_outlier {
    size_t median, outlier; /* numbers of runs */
    uint8_t heap; /* the heap whose peaks differ most, with the number of the outlier's GPU */
};

/* Sets the flags of the runs that are compared: one of each rank.  Without ranks these are the
 * children of one run, or the runs without a parent among them, whichever are more. */
void mpr_outlier_peers(const struct mpr_timeline *run, size_t runs, bool *alike);

/* Sets the place of each run among the outliers by the peaks of a heap: 1 for the farthest, 0 for a
 * run that is not an outlier.  Only the runs of mpr_outlier_peers are compared.  A run without that
 * heap counts with its largest heap of the same kind. */
void mpr_outlier_places(const struct mpr_timeline *run, size_t runs, const bool *alike,
                        uint8_t heap, size_t *place);

/* Finds the outlier among these, by the heap in which one is farthest from the median in bytes.
 * Returns false if there are fewer than three, or none differs by more than a twentieth. */
bool mpr_outlier_find(const struct mpr_timeline *run, size_t runs, struct mpr_outlier *out);

#endif
