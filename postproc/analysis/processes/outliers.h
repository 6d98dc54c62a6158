/* Outliers among values that should be similar, such as the peaks of a job's ranks. All reports
 * and the page use this rule. */
#ifndef MPR_OUTLIERS_H
#define MPR_OUTLIERS_H

#include <stddef.h>
#include <stdint.h>

/* Returns the median, or 0 without values. If their number is even, it is the larger one of the
 * two in the middle. */
uint64_t mpr_outliers_median(const uint64_t *value, size_t values);
/* Finds the values that differ from the median by more than a twentieth of it. Fills @outlier,
 * which has room for all values, with their indices: largest difference first, then by index.
 * Returns how many there are; among fewer than three values there are none. */
size_t mpr_outliers_find(const uint64_t *value, size_t values, size_t *outlier);

/* Returns how many of the values, which are sorted with the largest first, are much larger than
 * the others: they exceed the median by more than a tenth of it, more than 4 MiB, and more than
 * three times the distance from the median to the upper quartile. Among fewer than four values
 * there are none. */
size_t mpr_outliers_above(const uint64_t *value, size_t values);

#endif
