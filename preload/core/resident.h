/* The account of the process's resident memory by kind of mapping, read from /proc/self/smaps.
 *
 * Called by the thread that runs an epoch (epoch.h), under the epoch's lock. */
#ifndef MP_RESIDENT_H
#define MP_RESIDENT_H

#include <stdbool.h>
#include <stdint.h>

/* Records SAMPLE_RESIDENT, and RESIDENT_FILE and RESIDENT_MAPPING events, if resident memory has
 * grown since the reading with the most of it, and if a reading is due by its cost.
 * @now: CLOCK_MONOTONIC, ns; @rss: resident bytes; @last: the log ends now, so the cost of earlier
 * readings does not matter. */
void mp_resident_take(uint64_t now, uint64_t rss, bool last);

#endif
