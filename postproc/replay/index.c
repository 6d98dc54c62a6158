#include "index.h"

#include <stdlib.h>

#include "hash.h"

enum { FIRST = 64 };

void mpr_index_free(struct mpr_index *index)
{
    free(index->at);
    *index = (struct mpr_index){ 0 };
}

/* The key's entry, or the empty one (value 0) where it belongs. */
static struct mpr_index_entry *find(const struct mpr_index *index, uint64_t key)
{
    size_t i = mpr_hash(key) & index->mask;
    while (index->at[i].value && index->at[i].key != key) i = (i + 1) & index->mask;
    return &index->at[i];
}

uint32_t mpr_index_get(const struct mpr_index *index, uint64_t key) { return index->at ? find(index, key)->value : 0; }

static int grow(struct mpr_index *index)
{
    struct mpr_index grown = { .mask = index->at ? index->mask * 2 + 1 : FIRST - 1, .count = index->count };
    grown.at = calloc(grown.mask + 1, sizeof *grown.at);
    if (!grown.at) return -1;
    for (size_t i = 0; index->at && i <= index->mask; i++)
        if (index->at[i].value) *find(&grown, index->at[i].key) = index->at[i];
    free(index->at);
    *index = grown;
    return 0;
}

/* Moves back what would not be found behind the gap. */
static void take_out(struct mpr_index *index, size_t gap)
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

int mpr_index_set(struct mpr_index *index, uint64_t key, uint32_t value)
{
    if (!value && !mpr_index_get(index, key)) return 0;
    if (value && (!index->at || index->count > index->mask / 2) && grow(index) != 0) return -1;
    struct mpr_index_entry *entry = find(index, key);
    if (!value) take_out(index, (size_t)(entry - index->at));
    else {
        index->count += !entry->value;
        *entry = (struct mpr_index_entry){ key, value };
    }
    return 0;
}
