/* What a site did, told from what it held at some instants in a row.
 *
 * The first quarter of the instants is for warming up.  A site *grows* that held more in nine of
 * ten of the others than in the one before, and never again less than at the end of the warm-up.
 * Where a site makes blocks seldom, or has few samples, most instants see nothing of its growth:
 * then neighbours are joined, two, three and so on, until nine of ten of the longer intervals have
 * grown, the last one among them, or the intervals are so long that growth would have shown.
 *
 * Of an exact site that rose at enough instants the blocks may be judged as samples are below: so a
 * pause, or a block that was given back, hides no growth.
 *
 * Of sampled blocks the number of samples is judged.  Where hardly any of them went, growth is five
 * samples that came evenly (steady.h).  Where many come and go, it must be two and a half times its
 * standard error, and what stays must not come ever more slowly.  The variance of a difference is
 * that of the blocks that came and went between the two instants: those that lived at both cancel
 * out.
 *
 * One that *levelled off* grew at first, and has held the same since the middle, or longer: a
 * cache.  Private to this layer. */
#ifndef MPR_TREND_H
#define MPR_TREND_H

#include "history.h"

struct mpr_trend {
    enum mpr_trend_as {
        MPR_TREND_OTHER,
        MPR_TREND_GROWS,
        MPR_TREND_LEVELLED,
        MPR_TREND_FEW /* it may grow: the samples do not tell */
    } as;
    struct mpr_history_value by; /* how much more it held at last: than at the end of the warm-up,
                                    or of what levelled off at first */
    double error;                /* the standard error of by.bytes; 0: that is exact */
};

/* The instant that ends the warm-up. */
static inline size_t mpr_trend_warm(size_t count) { return (count + 3) / 4 - 1; }
/* Of a few values at least, so that there is something behind the warm-up. */
struct mpr_trend mpr_trend(const struct mpr_history_value *value, size_t count);

#endif
