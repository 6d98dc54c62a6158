/* A random generator that gives the same numbers in every run. */
#ifndef TESTS_FORMAT_RANDOM_H
#define TESTS_FORMAT_RANDOM_H

#include <stdint.h>

static inline uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}
static inline uint64_t below(uint64_t *state, uint64_t n) { return next_random(state) % n; }

#endif
