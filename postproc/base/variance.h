#ifndef MPR_VARIANCE_H
#define MPR_VARIANCE_H

#include <math.h>
#include <stdint.h>

/* The variance of an estimate, in bytes^2.  If the estimates of a heap are scaled to their known
 * sum (estimates.h), the error of each also depends on the blocks of the others. */
struct mpr_variance {
    double own;  /* without scaling */
    double part; /* its part of the sum; 0 if it is not scaled */
    double all;  /* the variance of the sum before scaling */
};

static inline double mpr_variance_value(const struct mpr_variance *v)
{
    return fmax(0, (1 - 2 * v->part) * v->own + v->part * v->part * v->all);
}

/* Adds another estimate of the same heap and log. */
static inline void mpr_variance_add(struct mpr_variance *to, const struct mpr_variance *from)
{
    to->own += from->own;
    to->part += from->part;
    to->all = fmax(to->all, from->all);
}

/* These return one standard error in bytes, which is 0 for an exact value. */
static inline uint64_t mpr_standard_error(double variance)
{
    return (uint64_t)fmin(sqrt(variance) + 0.5, 0x1p63);
}
static inline uint64_t mpr_variance_error(const struct mpr_variance *v)
{
    return mpr_standard_error(mpr_variance_value(v));
}

#endif
