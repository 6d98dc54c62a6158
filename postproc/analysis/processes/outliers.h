/* Outliers among values that should be alike, such as the peaks of a job's ranks: one rule for all
 * reports and the page. */
#ifndef MPR_OUTLIERS_H
#define MPR_OUTLIERS_H

#include <stddef.h>
#include <stdint.h>

/* Returns the median, of an even number of values the larger middle one, or 0 for no values. */
uint64_t mpr_outliers_median(const uint64_t *value, size_t values);
/* Fills *apart with the indices of values that differ from the median by more than a twentieth of
 * it, farthest first, equally far ones by index.  Returns how many there are: none of fewer than
 * three values.  *apart must have room for all values. */
size_t mpr_outliers_find(const uint64_t *value, size_t values, size_t *apart);

/* Returns how many of the values, which are sorted, largest first, exceed the others.  They exceed
 * the median by more than a tenth of it, 4 MiB, and three times the distance of the upper quartile.
 * Of fewer than four values none does. */
size_t mpr_outliers_above(const uint64_t *value, size_t values);

#endif
