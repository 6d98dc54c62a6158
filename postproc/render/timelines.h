/* The formats of a timeline.  Private to this layer. */
#ifndef MPR_TIMELINES_H
#define MPR_TIMELINES_H

#include "render.h"
#include "timeline.h"

void mpr_timeline_text(FILE *out, const struct mpr_timeline *timeline,
                       const struct mpr_style *style);
void mpr_timeline_json(FILE *out, const struct mpr_timeline *timeline,
                       const struct mpr_style *style);
void mpr_timeline_csv(FILE *out, const struct mpr_timeline *timeline,
                      const struct mpr_style *style);
void mpr_timeline_folded(FILE *out, const struct mpr_timeline *timeline,
                         const struct mpr_style *style);

#endif
