#include "index.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "alloc.h"

enum { MIN_ENTRIES = 64 };

struct mpr_hash_secret mpr_hash_secret = { 0, UINT64_C(0x9e3779b97f4a7c15) };

/* The kernel gives each program 16 random bytes; reading those cannot fail. */
__attribute__((constructor)) static void draw_secret(void)
{
    const void *random = (const void *)getauxval(AT_RANDOM);
    if (random) memcpy(&mpr_hash_secret, random, sizeof mpr_hash_secret);
    mpr_hash_secret.factor |= 1;
}

void mpr_index_free(struct mpr_index *index)
{
    free(index->at);
    *index = (struct mpr_index){ 0 };
}

/* Returns the first empty entry at the key's home, which is the place that its hash gives, or after
 * it. */
static struct mpr_index_entry *find_empty(const struct mpr_index *index, uint64_t key)
{
    size_t i = mpr_hash(key) & index->mask;
    while (index->at[i].value) i = (i + 1) & index->mask;
    return &index->at[i];
}

void mpr_index_add(struct mpr_index *index, uint64_t key, uint32_t value)
{
    if (!index->at || index->count > index->mask / 2) {
        struct mpr_index larger = { .mask = index->at ? index->mask * 2 + 1 : MIN_ENTRIES - 1,
                                    .count = index->count };
        larger.at = mpr_alloc(larger.mask + 1, sizeof *larger.at);
        MPR_INDEX_ALL(entry, index) * find_empty(&larger, entry->key) = *entry;
        free(index->at);
        *index = larger;
    }
    *find_empty(index, key) = (struct mpr_index_entry){ key, value };
    index->count++;
}

/* Empties an entry, and moves later entries into the gap if a search would stop there before it
 * finds them. */
static void remove_entry(struct mpr_index *index, size_t gap)
{
    for (size_t i = (gap + 1) & index->mask; index->at[i].value; i = (i + 1) & index->mask) {
        const size_t home = mpr_hash(index->at[i].key) & index->mask;
        if (((i - home) & index->mask) < ((i - gap) & index->mask)) continue;
        index->at[gap] = index->at[i];
        gap = i;
    }
    index->at[gap].value = 0;
    index->count--;
}

void mpr_index_set(struct mpr_index *index, uint64_t key, uint32_t value)
{
    struct mpr_index_entry *entry = index->at ? mpr_index_find(index, key) : NULL;
    if (!entry || !entry->value) {
        if (value) mpr_index_add(index, key, value);
    } else if (value) entry->value = value;
    else remove_entry(index, (size_t)(entry - index->at));
}
