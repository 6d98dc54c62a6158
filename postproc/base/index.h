/* Numbers by 64-bit key.  Open addressing, at most half full; all zero is an empty one.
 *
 * What has a longer key is found by a hash of it: several entries may have that, and who owns what
 * the numbers mean tells them apart:
 *
 *     for (struct mpr_probe p = mpr_index_probe(index, hash); (number = mpr_probe_next(&p)); )
 *         if (it is the one that is wanted) return number;
 */
#ifndef MPR_INDEX_H
#define MPR_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "hash.h"

/* value 0: an empty place */
struct mpr_index_entry {
    uint64_t key;
    uint32_t value;
};
struct mpr_index {
    struct mpr_index_entry *at;
    size_t mask, count;
};

void mpr_index_free(struct mpr_index *index);
/* value 0 takes the key out. */
void mpr_index_set(struct mpr_index *index, uint64_t key, uint32_t value);
/* One more entry of the key; value not 0.  What was added is not taken out. */
void mpr_index_add(struct mpr_index *index, uint64_t key, uint32_t value);

/* The key's entry, or the empty one where it belongs.  The index must not be empty. */
static inline struct mpr_index_entry *mpr_index_find(const struct mpr_index *index, uint64_t key)
{
    size_t i = mpr_hash(key) & index->mask;
    while (index->at[i].value && index->at[i].key != key) i = (i + 1) & index->mask;
    return &index->at[i];
}

/* 0 where there is none. */
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

/* The value of the key's next entry; 0: there is none. */
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

#endif
