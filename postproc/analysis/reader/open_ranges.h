/* Which ranges are open, event by event, each from its PUSH to its POP or to its thread's end: all
 * of them, where follow.h has those that someone asks for.  Private to this layer. */
#ifndef MPR_OPEN_RANGES_H
#define MPR_OPEN_RANGES_H

#include "replay.h"

struct mpr_open_instance {
    uint64_t push, from; /* which PUSH of the log it is; ns */
    uint32_t node, thread;
    uint32_t older, newer; /* of its thread; a free place: older is the next one.  + 1 */
};

struct mpr_open_ranges {
    /* ended: false where the log ends before. */
    void (*ends)(void *arg, const struct mpr_open_instance *instance, uint64_t to, bool ended);
    void *arg;
    struct mpr_open_instance *at;
    uint32_t count, cap, free;
    struct mpr_index number; /* by push: place + 1 */
    uint32_t *newest;        /* by thread: place + 1 */
    uint32_t threads;
};

/* A watch (replay.h): arg is the struct mpr_open_ranges. */
void mpr_open_ranges_see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                         const struct mpf_event *e);
/* After the last event. */
void mpr_open_ranges_end(struct mpr_open_ranges *o, const struct mpr_replay *r);
void mpr_open_ranges_free(struct mpr_open_ranges *o);

#endif
