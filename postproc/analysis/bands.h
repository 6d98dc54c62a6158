/* From cells to bands: the largest keep their names, the rest is summed.  Private to this layer. */
#ifndef MPR_BANDS_H
#define MPR_BANDS_H

#include "labels.h"
#include "levels.h"
#include "replay.h"
#include "timeline.h"

/* Fills bands, spans and changes of the heap from its series.  False without memory. */
bool mpr_bands_fill(struct mpr_timeline *timeline, const struct mpr_replay *r, const struct mpr_levels *levels,
                    uint8_t heap, struct mpr_heap_line *out);

#endif
