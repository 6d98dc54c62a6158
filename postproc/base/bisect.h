/* Binary search in a sorted array. */
#ifndef MPR_BISECT_H
#define MPR_BISECT_H

#include <stddef.h>

/* Returns the number of elements that satisfy a condition.  They must precede all others.
 * @index: the name of the index in the condition. */
#define MPR_COUNT_FIRST(index, count, condition)                                                   \
    __extension__({                                                                                \
        size_t low_ = 0, high_ = (count);                                                          \
        while (low_ < high_) {                                                                     \
            const size_t index = low_ + (high_ - low_) / 2;                                        \
            if (condition) low_ = index + 1;                                                       \
            else high_ = index;                                                                    \
        }                                                                                          \
        low_;                                                                                      \
    })

#endif
