/* Which of several runs, as the ranks of one job are, lie apart from the middle of them: the one
 * rule of all reports. */
#ifndef MPR_APART_H
#define MPR_APART_H

#include <stddef.h>
#include <stdint.h>

/* The middle one of the values; of an even number the larger of the two.  0 of none. */
uint64_t mpr_apart_median(const uint64_t *value, size_t values);
/* The numbers of those that are more than a twentieth of the median away from it, the farthest
 * first, of equals the first; of fewer than three none is.  `apart` has room for all.  How many. */
size_t mpr_apart_find(const uint64_t *value, size_t values, size_t *apart);

/* Of what is alike, as the workers of one parent: how many of the values, which come largest first,
 * stand above the others.  They are over the median by a tenth of it, by 4 MiB, and by three times
 * as much as the upper quartile is; of fewer than four none does. */
size_t mpr_apart_above(const uint64_t *value, size_t values);

#endif
