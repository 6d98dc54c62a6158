#include "apart.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

enum { TWENTIETH = 20, LEAST = 3 };
enum { ABOVE_LEAST = 4, ABOVE_BYTES = 4 << 20 };

static int by_value(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

uint64_t mpr_apart_median(const uint64_t *value, size_t values)
{
    if (!values) return 0;
    uint64_t *sorted = mpr_alloc(values, sizeof *sorted);
    memcpy(sorted, value, values * sizeof *sorted);
    qsort(sorted, values, sizeof *sorted, by_value);
    const uint64_t median = sorted[values / 2];
    free(sorted);
    return median;
}

struct order {
    const uint64_t *value;
    uint64_t median;
};

static uint64_t away(const struct order *o, size_t i)
{
    return o->value[i] > o->median ? o->value[i] - o->median : o->median - o->value[i];
}

static int by_distance(const void *left, const void *right, void *order)
{
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    const uint64_t x = away(order, a), y = away(order, b);
    if (x != y) return x > y ? -1 : 1;
    return a < b ? -1 : a > b;
}

size_t mpr_apart_find(const uint64_t *value, size_t values, size_t *apart)
{
    struct order order = { value, mpr_apart_median(value, values) };
    size_t count = 0;
    for (size_t i = 0; values >= LEAST && i < values; i++)
        if (away(&order, i) > order.median / TWENTIETH) apart[count++] = i;
    if (count) qsort_r(apart, count, sizeof *apart, by_distance, &order);
    return count;
}

size_t mpr_apart_above(const uint64_t *value, size_t values)
{
    if (values < ABOVE_LEAST) return 0;
    const uint64_t median = value[values / 2], spread = value[values / 4] - median;
    uint64_t least = median / 10;
    size_t count = 0;
    if (least < ABOVE_BYTES) least = ABOVE_BYTES;
    if (least / 3 < spread) least = 3 * spread;
    while (count < values / 4 && value[count] - median > least) count++;
    return count;
}
