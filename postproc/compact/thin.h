/* Thins the beginning of a log. */
#ifndef MPR_THIN_H
#define MPR_THIN_H

#include <stdint.h>

#include "error.h"

struct mpr_thinned {
    uint64_t frames, bytes; /* written */
    uint64_t removed;       /* events that are not in them */
    uint64_t until;         /* CLOCK_MONOTONIC ns: of the newest one */
    uint64_t grain;         /* ns */
};

/* Thins the events of LOG (its fold included) up to frame `seq` and appends EVENTS frames to `fd`,
 * numbered so that the last one is `seq`; at most `budget` bytes where that can be had.  0, or -1
 * with *error. */
int mpr_thin(const char *log, uint64_t seq, uint64_t budget, int fd, struct mpr_thinned *out,
             struct mpr_error *error);

#endif
