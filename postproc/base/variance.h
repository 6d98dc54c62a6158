#ifndef MPR_VARIANCE_H
#define MPR_VARIANCE_H

#include <math.h>
#include <stdint.h>

/* The variance of an estimate, in bytes^2. The estimates of a heap may be scaled to their known sum
 * (estimates.h). Then each errs with its own blocks and with those of the other estimates. */
struct mpr_variance {
    double own;  /* of its blocks */
    double part; /* its part of the sum, 0 if it is not scaled */
    double all;  /* the sum's variance */
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

/* Return one standard error, in bytes; 0: they are exact. */
static inline uint64_t mpr_standard_error(double variance)
{
    return (uint64_t)fmin(sqrt(variance) + 0.5, 0x1p63);
}
static inline uint64_t mpr_variance_error(const struct mpr_variance *v)
{
    return mpr_standard_error(mpr_variance_value(v));
}

#endif
