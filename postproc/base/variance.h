#ifndef MPR_VARIANCE_H
#define MPR_VARIANCE_H

#include <math.h>
#include <stdint.h>

/* Variances are in bytes squared. That of an estimate is that of its own blocks, and of the sum to
 * which it was scaled with the others of its heap: such estimates err together (estimates.h). */
struct mpr_variance {
    double own;
    double part, all; /* part: of the sum, whose variance is `all`; 0 if it is not scaled */
};

static inline double mpr_variance_value(const struct mpr_variance *v)
{
    return fmax(0, (1 - 2 * v->part) * v->own + v->part * v->part * v->all);
}

/* For the sum of two estimates of one heap in one log. */
static inline void mpr_variance_add(struct mpr_variance *to, const struct mpr_variance *from)
{
    to->own += from->own;
    to->part += from->part;
    to->all = fmax(to->all, from->all);
}

/* Returns one standard error, in bytes; 0: they are exact. */
static inline uint64_t mpr_variance_error(double variance)
{
    return (uint64_t)fmin(sqrt(variance) + 0.5, 0x1p63);
}

#endif
