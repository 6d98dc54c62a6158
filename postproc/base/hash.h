/* Mixes a 64-bit key so that every bit of it reaches the low bits: both halves of a product (the
 * "folded multiply" of wyhash).
 *
 * Each run draws a random factor, so that the writer of a log cannot choose keys that collide.
 * Output must therefore never depend on the order of a hash table. */
#ifndef MPR_HASH_H
#define MPR_HASH_H

#include <stdint.h>

extern struct mpr_hash_secret {
    uint64_t add, factor;
} mpr_hash_secret;

/* Gives the same value in every run: for a sample that a report shows. */
static inline uint64_t mpr_hash_plain(uint64_t key)
{
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return key ^ key >> 32;
}

static inline uint64_t mpr_hash(uint64_t key)
{
    const unsigned __int128 product =
        (unsigned __int128)(key ^ mpr_hash_secret.add) * mpr_hash_secret.factor;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t mpr_hash_text(const char *text)
{
    uint64_t hash = 0;
    for (; *text; text++) hash = mpr_hash(hash + (uint8_t)*text);
    return hash;
}

#endif
