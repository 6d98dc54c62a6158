/* The runs of the page: the timeline and the findings of a log from one replay, and the run that
 * differs most from the median of several, such as the ranks of a job. */
#ifndef MPR_PAGE_RUNS_H
#define MPR_PAGE_RUNS_H

#include "insights.h"
#include "timeline.h"

/* Fills the timeline, and begins the insights. The caller calls mpr_insights_finish(*reading)
 * once it knows the other processes; @path must live until then. options->by must be
 * MPR_GROUP_ALL. Returns 0, or -1 with *error filled and nothing to free. */
int mpr_page_runs_read(struct mpr_timeline *timeline, struct mpr_insights *insights,
                       struct mpr_insights_reading **reading, const char *path,
                       const struct mpr_timeline_options *options,
                       const struct mpr_progress *progress, struct mpr_error *error);

struct mpr_outlier {
    size_t median, outlier; /* indices of runs */
    uint8_t heap;           /* the heap whose peaks differ most, on the outlier's GPU */
};

/* Sets the flags of the runs to compare: one of each rank. Without ranks, these are the children
 * of one run, or the runs without a parent if they are more. */
void mpr_page_runs_peers(const struct mpr_timeline *run, size_t runs, bool *is_compared);

/* Sets the place of each run among the outliers by the peaks of a heap: 1 for the one farthest
 * from the median, 0 for a run that is not an outlier. Only the runs of mpr_page_runs_peers are
 * compared. A run without that heap is compared by its largest heap of the same kind. */
void mpr_page_runs_places(const struct mpr_timeline *run, size_t runs, const bool *is_compared,
                          uint8_t heap, size_t *place);

/* Finds the outlier among these runs that is farthest from the median in bytes, over all heaps.
 * Returns false if there are fewer than three runs, or none differs by more than a twentieth. */
bool mpr_page_runs_outlier(const struct mpr_timeline *run, size_t runs, struct mpr_outlier *out);

#endif
