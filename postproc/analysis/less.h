/* Differences of times and bytes.  A log may say anything, and of a running process two readings differ: what should be the larger one
 * need not be. */
#ifndef MPR_LESS_H
#define MPR_LESS_H

#include <stdint.h>

/* a - b; 0 where b is larger. */
static inline uint64_t mpr_less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

#endif
