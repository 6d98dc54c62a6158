/* What cells held at some instants in a row: each instance's end of a repeated range, or each so
 * many seconds.
 *
 * Only cells that changed are visited at an instant.  At most MPR_HISTORY_MAX instants are kept:
 * when they are that many, every second one goes, and so it is from then on.  Where call stacks are
 * sampled, values are estimates (estimates.h).  Private to this layer. */
#ifndef MPR_HISTORY_H
#define MPR_HISTORY_H

#include "replay.h"

enum { MPR_HISTORY_MAX = 64 };

struct mpr_history_value {
    uint64_t bytes, blocks;
    double came, went; /* where bytes are estimates: the variances of all blocks that came until
                          then, and of those that went (estimates.h); else 0 */
    uint64_t samples, live; /* blocks: ever, and then; 0 where not all of them are samples */
};

struct mpr_history {
    struct mpr_touches touches;
    struct mpr_lasting lasting; /* its newest mark is the last instant that is kept */
    const struct mpr_replay *replay;
    struct {
        uint64_t time, number;                    /* how many instants there were until then */
        struct mpr_history_value heap[MPR_HEAPS]; /* by code: the whole of each */
        struct mpr_within {
            double bytes, blocks; /* factors, at most 1 */
        } within[MPR_HEAPS];      /* what samples stand for is no more than there was (estimates.h)
                                   */
    } at[MPR_HISTORY_MAX];
    size_t count;         /* that are kept */
    uint64_t every;       /* ns from one to the next; 0: not by the clock */
    uint64_t until;       /* ns: the clock takes none after it */
    const uint64_t *from; /* ns: none is taken before it; NULL: each is */
    uint64_t taken, each; /* instants in all; of so many the last one is kept */
    struct mpr_history_past {
        struct mpr_history_point {
            uint64_t bytes, blocks;
            struct mpr_sampled {
                struct mpr_more more; /* that its sampled blocks stood for then */
                double came, went;
                uint64_t samples, live;
            } sampled;
            uint32_t at;
        } * point; /* where it changed, in order */
        uint32_t points, cap;
        struct mpr_sampled sampled; /* now */
    } * past;                       /* by cell */
    uint32_t cells;
    struct mpr_sampled all[MPR_HEAPS]; /* of all of a heap's cells; it is taken off the cell without
                                          a stack */
    uint32_t rest[MPR_HEAPS];          /* that cell + 1 */
    bool sampled[MPR_HEAPS];           /* was any block ever? */
};

/* Observes a replay that has seen nothing yet, for as long as it is not freed.  every: ns from
 * instant to instant; 0: they are taken by mpr_history_take alone.  until: ns, see above. */
void mpr_history_begin(struct mpr_history *h, struct mpr_replay *r, uint64_t every, uint64_t until);
/* The replay has seen all of the log: the clock's instants after the newest change, too. */
void mpr_history_end(struct mpr_history *h);
/* An instant: the state now, at a time in ns. */
void mpr_history_take(struct mpr_history *h, uint64_t time);
/* value[i]: what the cell held at the i-th instant; h->count of them. */
void mpr_history_values(const struct mpr_history *h, uint32_t cell,
                        struct mpr_history_value *value);
/* Are the cell's values estimates, as samples stand for others? */
bool mpr_history_is_estimate(const struct mpr_history *h, uint32_t cell);
void mpr_history_free(struct mpr_history *h);

#endif
