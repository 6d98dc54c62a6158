/* Decides whether a site grows, from the values that it had at some consecutive instants.
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
#ifndef MPR_TREND_H
#define MPR_TREND_H

#include "history.h"

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
