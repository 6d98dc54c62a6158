/* Tracks which instances of ranges are open, event by event.  Private to this layer.
 *
 * An instance is open from its PUSH to its POP, or to the end of its thread.  At most
 * MPR_FOLLOW_MAX are tracked at a time, so that hostile logs cost nothing; of others the end is
 * unknown. */
#ifndef MPR_FOLLOW_H
#define MPR_FOLLOW_H

#include "replay.h"

enum { MPR_FOLLOW_MAX = 256 };

struct mpr_followed {
    uint64_t push; /* number of its PUSH in the log */
    uint64_t number, begin_ns;
    uint32_t what, thread, node;
    uint32_t inner; /* the innermost open path on its thread */
};

struct mpr_follow {
    /* Returns the observer's number of this range, or 0 to leave it out. */
    uint32_t (*what)(void *ranges, const struct mpr_replay *r, uint32_t node);
    void *ranges;
    /* Called before each range event, while `open` is as since the previous one; or NULL. */
    void (*before)(void *arg, const struct mpr_replay *r);
    /* Sets `number` of a new instance; or NULL. */
    void (*begins)(void *arg, const struct mpr_replay *r, struct mpr_followed *f);
    /* @ended: false if the log ends before the instance. */
    void (*ends)(void *arg, const struct mpr_replay *r, const struct mpr_followed *f, bool ended);
    void *arg;
    struct mpr_followed open[MPR_FOLLOW_MAX]; /* in the order of their begin */
    size_t count;
    uint64_t left_out; /* instances that began while the limit was reached */
};

/* Returns true if an instance that begins now is left out. */
static inline bool mpr_follow_is_full(const struct mpr_follow *f)
{
    return f->count == MPR_FOLLOW_MAX;
}

/* Makes it a watch of the replay. Call it before the first event. */
void mpr_follow_begin(struct mpr_follow *f, struct mpr_replay *r);
/* Call it after the last event. */
void mpr_follow_end(struct mpr_follow *f, const struct mpr_replay *r);

/* ---- all open ranges, as many as replay follows (MPR_STACK_MAX of a thread) */

struct mpr_open_instance {
    uint64_t push, from; /* number of its PUSH in the log; time of it, ns */
    uint32_t node, thread;
};

struct mpr_open_ranges {
    /* @ended: false if the log ends before the instance. */
    void (*ends)(void *arg, const struct mpr_open_instance *instance, uint64_t to, bool ended);
    void *arg;
    struct mpr_open_thread {
        struct mpr_open_instance *at; /* outermost first */
        uint32_t count, cap;
    } * thread; /* by number */
    uint32_t threads;
};

/* For struct mpr_watch (replay.h); @arg: the struct mpr_open_ranges. */
void mpr_open_ranges_see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                         const struct mpf_event *e);
/* Call it after the last event. */
void mpr_open_ranges_end(struct mpr_open_ranges *o, const struct mpr_replay *r);
void mpr_open_ranges_free(struct mpr_open_ranges *o);

#endif
