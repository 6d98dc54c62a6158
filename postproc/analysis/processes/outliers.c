#include "outliers.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"

uint64_t mpr_outliers_median(const uint64_t *value, size_t values)
{
    if (!values) return 0;
    uint64_t *sorted = mpr_alloc(values, sizeof *sorted);
    memcpy(sorted, value, values * sizeof *sorted);
    qsort(sorted, values, sizeof *sorted, mpr_compare_numbers);
    const uint64_t median = sorted[values / 2];
    free(sorted);
    return median;
}

struct distances {
    const uint64_t *value;
    uint64_t median;
};

static uint64_t distance(const struct distances *d, size_t i)
{
    return d->value[i] > d->median ? d->value[i] - d->median : d->median - d->value[i];
}

static int by_distance(const void *left, const void *right, void *distances)
{
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    const int order = mpr_compare(distance(distances, b), distance(distances, a));
    return order ? order : mpr_compare(a, b);
}

size_t mpr_outliers_find(const uint64_t *value, size_t values, size_t *outlier)
{
    struct distances d = { value, mpr_outliers_median(value, values) };
    size_t count = 0;
    for (size_t i = 0; values >= 3 && i < values; i++)
        if (distance(&d, i) > d.median / 20) outlier[count++] = i;
    if (count) qsort_r(outlier, count, sizeof *outlier, by_distance, &d);
    return count;
}

size_t mpr_outliers_above(const uint64_t *value, size_t values)
{
    if (values < 4) return 0;
    const uint64_t median = value[values / 2], spread = value[values / 4] - median;
    uint64_t least = median / 10;
    size_t count = 0;
    if (least < 4 << 20) least = 4 << 20;
    if (least / 3 < spread) least = 3 * spread;
    while (count < values / 4 && value[count] - median > least) count++;
    return count;
}
