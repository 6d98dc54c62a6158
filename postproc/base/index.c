#include "index.h"

#include <stdlib.h>

#include "alloc.h"

enum { FIRST = 64 };

void mpr_index_free(struct mpr_index *index)
{
    free(index->at);
    *index = (struct mpr_index){ 0 };
}

/* The first empty place from the key's home on. */
static struct mpr_index_entry *empty_for(const struct mpr_index *index, uint64_t key)
{
    size_t i = mpr_hash(key) & index->mask;
    while (index->at[i].value) i = (i + 1) & index->mask;
    return &index->at[i];
}

static void make_room(struct mpr_index *index)
{
    if (index->at && index->count <= index->mask / 2) return;
    struct mpr_index grown = { .mask = index->at ? index->mask * 2 + 1 : FIRST - 1,
                               .count = index->count };
    grown.at = mpr_alloc(grown.mask + 1, sizeof *grown.at);
    for (size_t i = 0; index->at && i <= index->mask; i++)
        if (index->at[i].value) *empty_for(&grown, index->at[i].key) = index->at[i];
    free(index->at);
    *index = grown;
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

void mpr_index_add(struct mpr_index *index, uint64_t key, uint32_t value)
{
    make_room(index);
    *empty_for(index, key) = (struct mpr_index_entry){ key, value };
    index->count++;
}

void mpr_index_set(struct mpr_index *index, uint64_t key, uint32_t value)
{
    struct mpr_index_entry *entry = index->at ? mpr_index_find(index, key) : NULL;
    if (!entry || !entry->value) {
        if (value) mpr_index_add(index, key, value);
    } else if (value) entry->value = value;
    else take_out(index, (size_t)(entry - index->at));
}
