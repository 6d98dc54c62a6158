/* A log that is decoded some batches ahead of who replays it, by a thread of its own where there is
 * a processor for it and the log is long enough: decoding takes a third of a report's time.
 *
 * From start to stop the log is this one's: what its header says may be asked for, and of its
 * status what was final before the events at hand. */
#ifndef MPR_AHEAD_H
#define MPR_AHEAD_H

#include "log.h"

struct mpr_ahead;

/* For want of a thread it reads when it is asked; NULL for want of memory: next says so. */
struct mpr_ahead *mpr_ahead_start(struct mpr_log *log);
/* As mpr_log_next.  *position: mpr_log_position behind these events. */
long mpr_ahead_next(struct mpr_ahead *ahead, const struct mpf_event **events, uint64_t *position,
                    struct mpr_error *error);
/* The log may have been read beyond what was asked for. */
void mpr_ahead_stop(struct mpr_ahead *ahead);

#endif
