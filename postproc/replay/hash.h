/* Mixes a 64-bit key so that every bit of it reaches the low bits (Fibonacci hashing, folded). */
#ifndef MPR_HASH_H
#define MPR_HASH_H

#include <stdint.h>

static inline uint64_t mpr_hash(uint64_t key)
{
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return key ^ key >> 32;
}

#endif
