/* Arithmetic with numbers from a log.  A log may say anything, and two readings of a running
 * process differ, so the number that should be larger may not be.  A result that is out of range
 * becomes 0 for unsigned numbers, and +-INT64_MAX for signed ones, so that it can be negated. */
#ifndef MPR_AMOUNT_H
#define MPR_AMOUNT_H

#include <stdint.h>

/* Compares two numbers for qsort, the smaller one first. */
static inline int mpr_compare(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

static inline int mpr_compare_signed(int64_t a, int64_t b) { return a < b ? -1 : a > b; }

/* Defines a function for qsort. @order: compares two elements, *a and *b; several comparisons are
 * joined by ?:. */
#define MPR_COMPARE(name, type, order)                                                             \
    static int name(const void *left, const void *right)                                           \
    {                                                                                              \
        type const *a = left;                                                                      \
        type const *b = right;                                                                     \
        return order;                                                                              \
    }

/* Sorts an array of uint64_t with qsort. */
static inline int mpr_compare_numbers(const void *left, const void *right)
{
    return mpr_compare(*(const uint64_t *)left, *(const uint64_t *)right);
}

/* Returns a - b, or 0 if b is larger. */
static inline uint64_t mpr_saturating_sub(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

static inline int64_t mpr_saturating_signed(uint64_t value)
{
    return value < INT64_MAX ? (int64_t)value : INT64_MAX;
}

static inline int64_t mpr_signed_add(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) return b < 0 ? -INT64_MAX : INT64_MAX;
    return sum == INT64_MIN ? -INT64_MAX : sum;
}

static inline int64_t mpr_signed_sub(int64_t a, int64_t b)
{
    int64_t difference;
    if (__builtin_sub_overflow(a, b, &difference)) return b > 0 ? -INT64_MAX : INT64_MAX;
    return difference == INT64_MIN ? -INT64_MAX : difference;
}

static inline int64_t mpr_signed_difference(uint64_t from, uint64_t to)
{
    return to > from ? mpr_saturating_signed(to - from) : -mpr_saturating_signed(from - to);
}

#endif
