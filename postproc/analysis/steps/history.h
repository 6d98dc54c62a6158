/* The bytes of cells at consecutive instants: at the ends of a repeated range's instances, or every
 * few seconds.
 *
 * Only cells that changed are visited at an instant.  At most MPR_HISTORY_MAX instants are kept: if
 * there are more, every second one is dropped, and only every second further one is added.  If call
 * stacks are sampled, values are estimates (estimates.h).  The history of a replay by place has
 * values by any grouping to which it can be projected.  Private to this layer. */
#ifndef MPR_HISTORY_H
#define MPR_HISTORY_H

#include "projection.h"
#include "replay.h"

enum { MPR_HISTORY_MAX = 64 };

struct mpr_history_value {
    uint64_t bytes, blocks;
    /* Variances of all blocks that were allocated so far, and of the freed ones (estimates.h); 0 if
     * the bytes are exact. */
    double variance_added, variance_removed;
    uint64_t samples, live; /* sampled blocks so far, and live ones; 0 if others also exist */
};

/* The sampled blocks of one or more cells. */
struct mpr_sampled {
    struct mpr_represented represented; /* by the live ones */
    double variance_added, variance_removed;
    uint64_t samples, live;
};

struct mpr_history {
    struct mpr_touched_cells touches;
    struct mpr_lifetime_histogram lifetimes; /* its newest mark is the last kept instant */
    const struct mpr_replay *replay;
    struct {
        uint64_t time, number;                    /* number: the instant's, from 1 */
        struct mpr_history_value heap[MPR_HEAPS]; /* by code: sums of whole heaps */
    } at[MPR_HISTORY_MAX];
    size_t count;         /* kept instants */
    uint64_t every;       /* ns between instants, or 0 if only mpr_history_take adds them */
    uint64_t until;       /* ns: no interval ends later */
    const uint64_t *from; /* ns: the first possible instant, or NULL */
    uint64_t instants;    /* so far, kept or not */
    uint64_t keep_each;   /* one of this many instants is kept */
    struct mpr_history_past {
        struct mpr_history_point {
            uint64_t bytes, blocks;
            struct mpr_sampled sampled;
            uint32_t at; /* index of the instant */
        } * point;       /* totals at the instants at which the cell had changed, in order */
        uint32_t points, cap;
    } * past; /* by cell */
    uint32_t cells;
    struct mpr_sampled python; /* now, sum of all cells of host/python */
    struct mpr_sampled host;   /* likewise of host/heap, if its sums are estimates */
};

/* Observes a replay from before its first event until mpr_history_free. */
void mpr_history_begin(struct mpr_history *h, struct mpr_replay *r, uint64_t every, uint64_t until);
/* Adds the intervals after the newest change.  Call it after the last event. */
void mpr_history_end(struct mpr_history *h);
/* Adds an instant with the present state.  @time: ns. */
void mpr_history_take(struct mpr_history *h, uint64_t time);
void mpr_history_free(struct mpr_history *h);

/* The values by the grouping of the replay, or by that of a projection which replaces it. */
struct mpr_history_view {
    const struct mpr_history *history;
    const struct mpr_projection *projection; /* or NULL */
    uint32_t *source, *first; /* cells of the history: those of cell i are source[first[i]] up to
                                 source[first[i + 1]] */
    /* In a heap with samples one cell has the blocks that they represent.  Its bytes are reduced by
     * the estimates of all other cells. */
    uint32_t remainder[MPR_HEAPS];          /* that cell + 1, or 0 */
    bool sampled[MPR_HEAPS];                /* the heap has sampled blocks */
    struct mpr_sampled *samples[MPR_HEAPS]; /* by instant: sum of the heap's cells; or NULL */
    struct mpr_history_scaling {
        struct mpr_represented_sum sum; /* the remainder, and the estimates of it (estimates.h) */
        struct mpr_estimated_blocks blocks;
    } * scaling[MPR_HEAPS]; /* by instant: limits estimates to the remainder; or NULL */
};

void mpr_history_view(struct mpr_history_view *view, const struct mpr_history *h,
                      const struct mpr_projection *projection);
void mpr_history_view_free(struct mpr_history_view *view);
/* Fills h->count values, value[i] with the sum of the cells of one heap at the i-th instant. */
void mpr_history_values(const struct mpr_history_view *view, const uint32_t *cell, size_t cells,
                        struct mpr_history_value *value);
/* Returns true if the cell's values are estimates from samples. */
bool mpr_history_is_estimate(const struct mpr_history_view *view, uint32_t cell);

/* ---- trend
 *
 * Decides whether a call site grows, from its values at consecutive instants.  Private to this
 * layer.
 *
 * The first quarter of the instants is the warm-up.  A site *grows* if it held more than before at
 * nine of ten of the other instants, and never less than at the end of the warm-up, except by
 * chance of sampling.  A site that allocates rarely, or has few samples, does not change at most
 * instants.  Then two, three and so on neighbouring instants are joined, until nine of ten of these
 * longer intervals have grown, including the last one, or until they are so long that growth would
 * show in each.
 *
 * If an exact site rose at enough instants, its blocks are also tested like samples.  So a pause,
 * or a freed block, does not hide growth.
 *
 * Sampled blocks are tested by the number of samples.  If hardly any were freed, five samples at
 * evenly spread times are growth (trend.c).  If many were freed, the growth must be two and a half
 * times its standard error, and the rate of the samples that stay must not fall.  The variance of
 * a difference is that of the blocks that were allocated or freed between the two instants, because
 * blocks that lived at both cancel out.
 *
 * A site *levelled off*, like a cache, if it grew at first and did not change in the second half of
 * the instants. */

struct mpr_trend {
    enum mpr_trend_kind {
        MPR_TREND_OTHER,
        MPR_TREND_GROWS,
        MPR_TREND_LEVELLED,
        MPR_TREND_FEW /* it may grow, but has too few samples to decide */
    } kind;
    struct mpr_history_value growth; /* from the end of the warm-up to the last instant; from the
                                        first one if the site levelled off */
    double error;                    /* the standard error of growth.bytes, or 0 if exact */
};

/* Returns the index of the instant that ends the warm-up. */
static inline size_t mpr_trend_warm(size_t count) { return (count + 3) / 4 - 1; }
/* @count: more instants than the warm-up has. */
struct mpr_trend mpr_trend(const struct mpr_history_value *value, size_t count);

#endif
