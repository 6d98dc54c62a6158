/* Who held how many bytes when: what is behind `memprof-report timeline` and the page. */
#ifndef MPR_TIMELINE_H
#define MPR_TIMELINE_H

#include "progress.h"
#include "timeline_result.h"

struct mpr_error;

/* 0, or -1 with *error filled (nothing to free then). */
int mpr_timeline_read(struct mpr_timeline *timeline, const char *path,
                      const struct mpr_timeline_options *options,
                      const struct mpr_progress *progress, struct mpr_error *error);
void mpr_timeline_free(struct mpr_timeline *timeline);

#endif
