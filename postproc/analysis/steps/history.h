/* The bytes of cells at consecutive instants: the ends of a repeated range's instances, or every
 * few seconds.
 *
 * Only cells that changed are visited at an instant. At most MPR_HISTORY_MAX instants are kept: at
 * that number every second one is dropped, and from then on every second one is taken. If call
 * stacks are sampled, values are estimates (estimates.h). Private to this layer. */
#ifndef MPR_HISTORY_H
#define MPR_HISTORY_H

#include "replay.h"

enum { MPR_HISTORY_MAX = 64 };

struct mpr_history_value {
    uint64_t bytes, blocks;
    double came, went;      /* if bytes are estimates: variances of all blocks allocated until then,
                               and of the freed ones (estimates.h); else 0 */
    uint64_t samples, live; /* blocks: all, and those live at the instant; 0 unless all are samples
                             */
};

struct mpr_history {
    struct mpr_touches touches;
    struct mpr_lasting lasting; /* its newest mark is the last kept instant */
    const struct mpr_replay *replay;
    struct {
        uint64_t time, number;                    /* number: instants until then */
        struct mpr_history_value heap[MPR_HEAPS]; /* by code: sums of whole heaps */
        struct mpr_within {
            double bytes, blocks; /* factors, at most 1 */
        } within[MPR_HEAPS];      /* so that samples represent no more than the heap's bytes
                                     (estimates.h) */
    } at[MPR_HISTORY_MAX];
    size_t count;         /* kept instants */
    uint64_t every;       /* ns between instants; 0: not in intervals */
    uint64_t until;       /* ns: no interval ends later */
    const uint64_t *from; /* ns: instants before it are not taken; may be NULL */
    uint64_t taken, each; /* all instants; each: one of this many is kept */
    struct mpr_history_past {
        struct mpr_history_point {
            uint64_t bytes, blocks;
            struct mpr_sampled {
                struct mpr_more more; /* represented by its sampled blocks at that time */
                double came, went;
                uint64_t samples, live;
            } sampled;
            uint32_t at;
        } * point; /* instants of changes, in order */
        uint32_t points, cap;
        struct mpr_sampled sampled; /* now */
    } * past;                       /* by cell */
    uint32_t cells;
    struct mpr_sampled all[MPR_HEAPS]; /* sum of a heap's cells, subtracted from the cell without a
                                          stack */
    uint32_t rest[MPR_HEAPS];          /* the cell without a stack + 1 */
    bool sampled[MPR_HEAPS];           /* true once a block was sampled */
};

/* Observes a replay from before its first event until mpr_history_free. every: ns between instants;
 * 0: only mpr_history_take takes instants. until: ns, see above. */
void mpr_history_begin(struct mpr_history *h, struct mpr_replay *r, uint64_t every, uint64_t until);
/* Call it after the last event: takes the instants after the newest change. */
void mpr_history_end(struct mpr_history *h);
/* Takes an instant with the present state. time: ns. */
void mpr_history_take(struct mpr_history *h, uint64_t time);
/* Fills h->count values, value[i] with the cell's at the i-th instant. */
void mpr_history_values(const struct mpr_history *h, uint32_t cell,
                        struct mpr_history_value *value);
/* Returns true if the cell's values are estimates from samples. */
bool mpr_history_is_estimate(const struct mpr_history *h, uint32_t cell);
void mpr_history_free(struct mpr_history *h);

#endif
