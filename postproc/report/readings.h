/* Names of the values of a reading, for every format. */
#ifndef MPR_READINGS_H
#define MPR_READINGS_H

#include "peaks.h"

struct mpr_reading_names { const char *source, *value[MPR_READING_VALUES]; };

extern const struct mpr_reading_names mpr_reading_names[MPR_READ_SOURCES];

/* RSS: what of its parts is known; MPF_UNKNOWN: nothing. */
uint64_t mpr_reading_resident(const struct mpr_reading *rss);

#endif
