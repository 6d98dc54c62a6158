/* Decodes a log some batches ahead of its reader, in a thread, because decoding takes a third of
 * the time of a report.  Without a second processor, or if the log is short, it decodes on demand.
 *
 * From start to stop the log belongs to this module: only its header may be read, and those parts
 * of its status that were final before the events at hand. */
#ifndef MPR_AHEAD_H
#define MPR_AHEAD_H

#include "log.h"

struct mpr_ahead;

/* Returns NULL if memory runs out; mpr_ahead_next then reports it. */
struct mpr_ahead *mpr_ahead_start(struct mpr_log *log);
/* Does the same as mpr_log_next.  *position: mpr_log_position after these events. */
long mpr_ahead_next(struct mpr_ahead *ahead, const struct mpf_event **events, uint64_t *position,
                    struct mpr_error *error);
/* The log may have been read further than the events that were returned. */
void mpr_ahead_stop(struct mpr_ahead *ahead);

#endif
