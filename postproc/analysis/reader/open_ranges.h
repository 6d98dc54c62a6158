/* Tracks all open ranges, event by event, each from its PUSH to its POP or to the end of its
 * thread. follow.h tracks a limited number of some of them.  Private to this layer. */
#ifndef MPR_OPEN_RANGES_H
#define MPR_OPEN_RANGES_H

#include "replay.h"

struct mpr_open_instance {
    uint64_t push, from; /* number of its PUSH in the log; time of it, ns */
    uint32_t node, thread;
    uint32_t older, newer; /* places of its neighbours on the thread, + 1; in a free place, older is
                              the next free one */
};

struct mpr_open_ranges {
    /* @ended: false if the log ends before the instance. */
    void (*ends)(void *arg, const struct mpr_open_instance *instance, uint64_t to, bool ended);
    void *arg;
    struct mpr_open_instance *at;
    uint32_t count, cap, free;
    struct mpr_index number; /* by push: place + 1 */
    uint32_t *newest;        /* by thread: place + 1 */
    uint32_t threads;
};

/* For struct mpr_watch (replay.h); @arg: the struct mpr_open_ranges. */
void mpr_open_ranges_see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                         const struct mpf_event *e);
/* Call it after the last event. */
void mpr_open_ranges_end(struct mpr_open_ranges *o, const struct mpr_replay *r);
void mpr_open_ranges_free(struct mpr_open_ranges *o);

#endif
