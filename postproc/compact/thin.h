/* Writes the older part of a log anew, with fewer events: those of blocks that were live at no
 * instant that counts are left out (kept.h, fates.h). */
#ifndef MPR_THIN_H
#define MPR_THIN_H

#include <stdint.h>

#include "error.h"

struct mpr_thinned {
    uint64_t frames, bytes; /* written */
    uint64_t removed;       /* events that are not in them */
    uint64_t until;         /* CLOCK_MONOTONIC ns of the newest event of that part */
    uint64_t grain;         /* ns: bins of time in each of which a heap's largest state is whole */
};

/* Appends to `fd` EVENTS frames that stand for the log's frames (its fold's included) up to `seq`,
 * numbered so that the last one is `seq`: no more frames and, where that can be had, no more bytes
 * than the budget.  0, or -1 with *error filled.  One thread; memory as of a report, and a bit an
 * event. */
int mpr_thin(const char *log, uint64_t seq, uint64_t budget, int fd, struct mpr_thinned *out,
             struct mpr_error *error);

#endif
