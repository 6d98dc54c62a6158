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
/* Is the log's host/heap a sample of its blocks, with totals of the others? */
static inline bool mpr_replay_samples_host(const struct mpr_replay *r)
{
    return r->options.host_sample_mean > 0;
}
/* Do sampled blocks of the heap stand for others, which lie in another cell of it?  Those of
 * host/python stand for others that are nowhere. */
static inline bool mpr_replay_weighs(const struct mpr_replay *r, uint8_t heap)
{
    if (heap == MPF_HEAP_HOST && mpr_replay_samples_host(r)) return true;
    return heap != MPF_HEAP_PYTHON && r->estimates.stacks.mean > 0 && mpr_replay_by_stacks(r);
}
/* Is it that cell: what has no stack, or is not recorded? */
static inline bool mpr_replay_is_rest(const struct mpr_replay *r, const struct mpr_cell *cell)
{
    if (cell->heap == MPF_HEAP_HOST && mpr_replay_samples_host(r))
        return mpr_totals_is(&r->totals, &r->books, cell);
    return !cell->key && cell->heap != MPF_HEAP_PYTHON;
}

#endif
