/* One log of the page: its timeline, and the findings, from one replay. */
#ifndef MPR_PAGE_LOG_H
#define MPR_PAGE_LOG_H

#include "insights.h"
#include "timeline.h"

/* Fills the timeline, by MPR_GROUP_ALL, and begins the insights: the caller calls
 * mpr_insights_finish(*reading) once it knows the other processes. @path: lives until then.
 * Returns 0, or -1 with *error filled and nothing to free. */
int mpr_page_log_read(struct mpr_timeline *timeline, struct mpr_insights *insights,
                      struct mpr_insights_reading **reading, const char *path,
                      const struct mpr_timeline_options *options,
                      const struct mpr_progress *progress, struct mpr_error *error);

#endif
