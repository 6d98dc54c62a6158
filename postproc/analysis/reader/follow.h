/* Which of the ranges that someone asks for are open, event by event.  Private to this layer.
 *
 * A range is followed from its PUSH to its POP, or to the end of its thread.  At most
 * MPR_FOLLOW_MAX at a time: a log that opens more costs no more, and their ends are not seen. */
#ifndef MPR_FOLLOW_H
#define MPR_FOLLOW_H

#include "replay.h"

enum { MPR_FOLLOW_MAX = 256 };

struct mpr_followed {
    uint64_t push; /* which PUSH of the log it is */
    uint64_t number, begin_ns;
    uint32_t what, thread, node;
    uint32_t inner; /* the path that is open on its thread */
};

struct mpr_follow {
    /* What a range of this node is to whoever asks; 0: not followed. */
    uint32_t (*what)(void *arg, const struct mpr_replay *r, uint32_t node);
    /* A range event is about to count: what is open was so until now.  NULL: not asked for. */
    void (*before)(void *arg, const struct mpr_replay *r);
    /* It gets its `number` here. */
    void (*begins)(void *arg, const struct mpr_replay *r, struct mpr_followed *f);
    /* ended: false where the log ends before. */
    void (*ends)(void *arg, const struct mpr_replay *r, const struct mpr_followed *f, bool ended);
    void *arg;
    struct mpr_followed open[MPR_FOLLOW_MAX]; /* in order of their beginning */
    size_t count;
    uint64_t left_out; /* began while so many were open */
};

/* Then what begins is not followed. */
static inline bool mpr_follow_is_full(const struct mpr_follow *f)
{
    return f->count == MPR_FOLLOW_MAX;
}

/* A watch (replay.h): arg is the struct mpr_follow. */
void mpr_follow_see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                    const struct mpf_event *e);
/* After the last event. */
void mpr_follow_end(struct mpr_follow *f, const struct mpr_replay *r);

#endif
