/* A hash table from 64-bit keys to 32-bit values, with open addressing, at most half full.  A table
 * of zeros is empty.
 *
 * For a longer key, the hash is the key and the number of an object the value.  Several objects may
 * have the same hash, so the caller compares them:
 *
 *     MPR_INDEX_EACH(number, index, hash)
 *         if (object[number] has the key) return number;
 */
#ifndef MPR_INDEX_H
#define MPR_INDEX_H

#include <stddef.h>
#include <stdint.h>

/* ---- hashes
 *
 * mpr_hash mixes a key so that all its bits change the low bits of the hash: it joins both halves
 * of a product (the "folded multiply" of wyhash).  The factor is random in each run, so that nobody
 * can write a log whose keys collide.  So output must not depend on the order of a hash table. */

extern struct mpr_hash_secret {
    uint64_t add, factor;
} mpr_hash_secret;

/* Returns the same value in every run.  For choosing a sample that a report shows. */
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

/* Runs the statement that follows with each entry that is in use, in no order. */
#define MPR_INDEX_ALL(entry, index)                                                                \
    for (const struct mpr_index_entry *entry = (index)->at, *const entry##_end =                   \
                                                                entry ? entry + (index)->mask + 1  \
                                                                      : NULL;                      \
         entry < entry##_end; entry++)                                                             \
        if (entry->value)

/* ---- tables */

struct mpr_index_entry {
    uint64_t key;
    uint32_t value; /* 0: the entry is empty */
};
struct mpr_index {
    struct mpr_index_entry *at;
    size_t mask, count;
};

void mpr_index_free(struct mpr_index *index);
/* Sets the value of a key.  The value 0 removes the key. */
void mpr_index_set(struct mpr_index *index, uint64_t key, uint32_t value);
/* Adds an entry, also if the key already has one.  The value must not be 0.  Entries that were
 * added this way must not be removed. */
void mpr_index_add(struct mpr_index *index, uint64_t key, uint32_t value);

/* Returns the entry of the key, or the empty entry for it.  The table must have memory. */
static inline struct mpr_index_entry *mpr_index_find(const struct mpr_index *index, uint64_t key)
{
    size_t i = mpr_hash(key) & index->mask;
    while (index->at[i].value && index->at[i].key != key) i = (i + 1) & index->mask;
    return &index->at[i];
}

/* Returns the value of the key, or 0 if it has none. */
static inline uint32_t mpr_index_get(const struct mpr_index *index, uint64_t key)
{
    return index->at ? mpr_index_find(index, key)->value : 0;
}

struct mpr_probe {
    const struct mpr_index *index;
    uint64_t key;
    size_t at;
};

static inline struct mpr_probe mpr_index_probe(const struct mpr_index *index, uint64_t key)
{
    return (struct mpr_probe){ index, key, mpr_hash(key) & index->mask };
}

/* Returns the value of the next entry of the key, or 0 after the last one. */
static inline uint32_t mpr_probe_next(struct mpr_probe *p)
{
    const struct mpr_index_entry *entry;
    if (!p->index->at) return 0;
    while ((entry = &p->index->at[p->at])->value) {
        p->at = (p->at + 1) & p->index->mask;
        if (entry->key == p->key) return entry->value;
    }
    return 0;
}

/* Runs the statement that follows with the value of each entry of the key.  @number: its name. */
#define MPR_INDEX_EACH(number, index, key)                                                         \
    for (struct mpr_probe number##_probe = mpr_index_probe(index, key), *once_ = &number##_probe;  \
         once_; once_ = NULL)                                                                      \
        for (uint32_t number; (number = mpr_probe_next(once_));)

#endif
