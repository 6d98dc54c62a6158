/* Replay: from events in time order to who holds what, now and at each heap's peak.
 *
 * One pass; memory grows with live blocks, ranges and threads, never with events.  Not thread-safe.
 */
#ifndef MPR_REPLAY_H
#define MPR_REPLAY_H

#include "replay_state.h"

void mpr_replay_init(struct mpr_replay *r, const struct mpr_replay_options *options);
void mpr_replay_free(struct mpr_replay *r);
void mpr_replay_batch(struct mpr_replay *r, const struct mpf_event *events, size_t count);
/* After the last event. */
void mpr_replay_finish(struct mpr_replay *r);
/* Are cells known by call stacks, so that sampled blocks stand for others that have none?  By the
 * best name those outside any range do; the others are in their range. */
static inline bool mpr_replay_by_stacks(const struct mpr_replay *r)
{
    const enum mpr_group by = r->options.by;
    return by == MPR_GROUP_STACK || by == MPR_GROUP_PYTHON || by == MPR_GROUP_LIBRARY ||
           by == MPR_GROUP_AUTO;
}

#endif
