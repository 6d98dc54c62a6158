/* The bytes of cells at consecutive instants: the ends of a repeated range's instances, or every
 * few seconds.
 *
 * Only cells that changed are visited at an instant. At most MPR_HISTORY_MAX instants are kept: at
 * that number every second one is dropped, and from then on every second one is taken. If call
 * stacks are sampled, values are estimates (estimates.h). A history of a replay by place has values
 * by any grouping that it can be projected to. Private to this layer. */
#ifndef MPR_HISTORY_H
#define MPR_HISTORY_H

#include "projection.h"
#include "replay.h"

enum { MPR_HISTORY_MAX = 64 };

struct mpr_history_value {
    uint64_t bytes, blocks;
    double came, went;      /* variances of all blocks allocated until then, and of the freed ones
                               (estimates.h), or 0 if bytes are exact */
    uint64_t samples, live; /* number of all sampled blocks until then, and of the live ones, or 0
                               if the site has other blocks */
};

/* The sampled blocks of a cell, or of several. */
struct mpr_sampled {
    struct mpr_represented more; /* represented by the live ones */
    double came, went;
    uint64_t samples, live;
};

struct mpr_history {
    struct mpr_touched_cells touches;
    struct mpr_lifetime_histogram lasting; /* its newest mark is the last kept instant */
    const struct mpr_replay *replay;
    struct {
        uint64_t time, number;                    /* number: instants until then */
        struct mpr_history_value heap[MPR_HEAPS]; /* by code: sums of whole heaps */
    } at[MPR_HISTORY_MAX];
    size_t count;         /* kept instants */
    uint64_t every;       /* ns between instants, or 0 if they are not in intervals */
    uint64_t until;       /* ns: no interval ends later */
    const uint64_t *from; /* ns: instants before it are not taken; may be NULL */
    uint64_t taken, each; /* all instants; each: one of this many is kept */
    struct mpr_history_past {
        struct mpr_history_point {
            uint64_t bytes, blocks;
            struct mpr_sampled sampled;
            uint32_t at;
        } * point; /* instants of changes, in order */
        uint32_t points, cap;
    } * past; /* by cell */
    uint32_t cells;
    struct mpr_sampled python; /* now, of all cells of host/python */
};

/* Observes a replay from before its first event until mpr_history_free.  If @every is 0, only
 * mpr_history_take takes instants. */
void mpr_history_begin(struct mpr_history *h, struct mpr_replay *r, uint64_t every, uint64_t until);
/* Call it after the last event: takes the instants after the newest change. */
void mpr_history_end(struct mpr_history *h);
/* Takes an instant with the present state.  @time: ns. */
void mpr_history_take(struct mpr_history *h, uint64_t time);
void mpr_history_free(struct mpr_history *h);

/* The values by the grouping of the replay, or of a projection that is in its place. */
struct mpr_history_view {
    const struct mpr_history *history;
    const struct mpr_projection *projection; /* or NULL */
    uint32_t *source, *first; /* cells of the history: those of cell i are source[first[i]] up to
                                 source[first[i + 1]] */
    uint32_t rest[MPR_HEAPS]; /* the cell whose blocks the samples represent, + 1 */
    bool sampled[MPR_HEAPS];  /* the heap has sampled blocks */
    struct mpr_sampled *all[MPR_HEAPS]; /* by instant: of all cells of the heap, which are
                                           subtracted from the rest; or NULL */
    struct mpr_within {
        struct mpr_represented_sum sum; /* the rest, and the estimates of it (estimates.h) */
        struct mpr_estimated_blocks blocks;
    } * within[MPR_HEAPS]; /* by instant; or NULL */
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
 * Decides whether a site grows, from the values that it had at some consecutive instants.
 *
 * The first quarter of the instants is the warm-up. A site *grows* if it held more at nine of ten
 * of the other instants than at the previous one, and, except by chance of sampling, never less
 * than at the end of the warm-up. If a site makes blocks rarely, or has few samples, it does not
 * change at most instants. Then neighbouring instants are joined, two, three and so on, until nine
 * of ten of the longer intervals have grown, including the last one, or until they are so long that
 * growth would have shown.
 *
 * The blocks of an exact site that rose at enough instants may be tested like samples. So a pause,
 * or a freed block, does not hide growth.
 *
 * For sampled blocks the number of samples is tested. If hardly any of them went, growth is five
 * samples at even times (trend.c). If many come and go, the growth must be two and a half times its
 * standard error, and the samples that stay must not come ever more slowly. The variance of a
 * difference is that of the blocks that came or went between the two instants, because blocks that
 * lived at both cancel out.
 *
 * A site *levelled off*, like a cache, if it grew at first and has held the same since the middle,
 * or for longer.  Private to this layer. */

struct mpr_trend {
    enum mpr_trend_as {
        MPR_TREND_OTHER,
        MPR_TREND_GROWS,
        MPR_TREND_LEVELLED,
        MPR_TREND_FEW /* the samples are too few to decide */
    } as;
    struct mpr_history_value by; /* the growth until the last instant: since the end of the warm-up,
                                    or since the first instant if it levelled off */
    double error;                /* the standard error of by.bytes, or 0 if that is exact */
};

/* Returns the index of the instant that ends the warm-up. */
static inline size_t mpr_trend_warm(size_t count) { return (count + 3) / 4 - 1; }
/* @count: at least a few, so that there are instants after the warm-up. */
struct mpr_trend mpr_trend(const struct mpr_history_value *value, size_t count);

#endif
