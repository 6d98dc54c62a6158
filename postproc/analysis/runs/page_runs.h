/* The runs of the page: the timeline and the findings of one log, from one replay, and the run that
 * differs most from the median of several runs, such as the ranks of a job. */
#ifndef MPR_PAGE_RUNS_H
#define MPR_PAGE_RUNS_H

#include "insights.h"
#include "timeline.h"

/* Fills the timeline, by MPR_GROUP_ALL, and begins the insights: the caller calls
 * mpr_insights_finish(*reading) once it knows the other processes. @path: lives until then.
 * Returns 0, or -1 with *error filled and nothing to free. */
int mpr_page_runs_read(struct mpr_timeline *timeline, struct mpr_insights *insights,
                       struct mpr_insights_reading **reading, const char *path,
                       const struct mpr_timeline_options *options,
                       const struct mpr_progress *progress, struct mpr_error *error);

struct mpr_outlier {
    size_t median, outlier; /* numbers of runs */
    uint8_t heap; /* the heap whose peaks differ most, with the number of the outlier's GPU */
};

/* Sets the flags of the runs that are compared: one of each rank.  Without ranks these are the
 * children of one run, or the runs without a parent among them, whichever are more. */
void mpr_page_runs_peers(const struct mpr_timeline *run, size_t runs, bool *alike);

/* Sets the place of each run among the outliers by the peaks of a heap: 1 for the farthest, 0 for a
 * run that is not an outlier.  Only the runs of mpr_page_runs_peers are compared.  A run without
 * that heap counts with its largest heap of the same kind. */
void mpr_page_runs_places(const struct mpr_timeline *run, size_t runs, const bool *alike,
                          uint8_t heap, size_t *place);

/* Finds the outlier among these, by the heap in which one is farthest from the median in bytes.
 * Returns false if there are fewer than three, or none differs by more than a twentieth. */
bool mpr_page_runs_outlier(const struct mpr_timeline *run, size_t runs, struct mpr_outlier *out);

#endif
