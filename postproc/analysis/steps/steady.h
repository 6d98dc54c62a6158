/* Do the samples that stay at a site come at a steady rate?  What a leak does, and a cache that
 * fills up or a phase of loading does not.
 *
 * Of some instants in a row the *envelope* is asked: the least that was held at an instant or ever
 * after, so what came and did not go again.  Where hardly any sample went, five that came are no
 * chance: a site that keeps as many as it loses has them in less than one of a hundred runs, as
 * test_trend.c tries.  Their times tell the rest, for those of a leak are spread evenly:
 *
 * - they are at four instants at least, span half of the time since the warm-up and reach into its
 *   last quarter, and it is no rare chance (5 %) that none came after the last one. So of caches
 *   that are full after four fifths of the log none is growth; with the last third it was one in
 *   ten of 5 samples, more than one in four of 12, for six more of a hundred leaks of 5 to 7
 *   samples and three of 9;
 * - their mean is not earlier than that of even times is in 19 of 20 runs: Laplace's test of a
 * trend (Cox and Lewis, The Statistical Analysis of Series of Events, 1966, chapter 3.3), by which
 * a cache shows that fills up ever more slowly.  Fewer than a dozen must pass it with the warm-up,
 *   too: there a cache got most of what it has.
 *
 * Several samples that came between two instants count once where times are tested, as they may be
 * of one request.  Private to this layer. */
#ifndef MPR_STEADY_H
#define MPR_STEADY_H

#include <stdbool.h>
#include <stddef.h>

/* At an instant. */
struct mpr_level {
    double held;       /* samples that live; of what has none, bytes */
    double came, went; /* until then; of estimates without samples, as variances */
};

/* Does what came since the warm-up stay, but for one of eight? */
bool mpr_steady_keeps(const struct mpr_level *level, size_t warm, size_t last);
/* Of such a site. */
bool mpr_steady_grows(const struct mpr_level *level, size_t warm, size_t last);
/* Of any: may what stays come steadily, for all that its times tell? */
bool mpr_steady_may(const struct mpr_level *level, size_t warm, size_t last);

#endif
