/* Differences and signed amounts of what a log says.  It may say anything, and of a running process
 * two readings differ, so that what should be the larger one need not be: differences end at 0,
 * signed amounts at the largest number, and they never are the one that has no negative. */
#ifndef MPR_AMOUNT_H
#define MPR_AMOUNT_H

#include <stdint.h>

/* The order of two numbers as qsort wants it, the smaller one first. */
static inline int mpr_compare(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

/* a - b; 0 where b is larger. */
static inline uint64_t mpr_less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

static inline int64_t mpr_amount(uint64_t value)
{
    return value < INT64_MAX ? (int64_t)value : INT64_MAX;
}

static inline int64_t mpr_plus(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) return b < 0 ? -INT64_MAX : INT64_MAX;
    return sum == INT64_MIN ? -INT64_MAX : sum;
}

static inline int64_t mpr_minus(int64_t a, int64_t b)
{
    int64_t difference;
    if (__builtin_sub_overflow(a, b, &difference)) return b > 0 ? -INT64_MAX : INT64_MAX;
    return difference == INT64_MIN ? -INT64_MAX : difference;
}

static inline int64_t mpr_change(uint64_t from, uint64_t to)
{
    return to > from ? mpr_amount(to - from) : -mpr_amount(from - to);
}

#endif
