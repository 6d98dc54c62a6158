/* From replay's samples to what results hold of them.  Private to this layer. */
#ifndef MPR_READING_H
#define MPR_READING_H

#include "peaks.h"
#include "samples.h"

struct mpr_reading mpr_reading_of(const struct mpr_sample *sample);
/* What held at the instant, the heap's peak: the nearest sample, where one that said nothing new was not kept. */
struct mpr_reading mpr_reading_at_peak(const struct mpr_track *track, uint8_t heap, uint64_t instant);

#endif
