#include "births.h"

#include <assert.h>
#include <stdlib.h>

#include "alloc.h"

static_assert(sizeof(struct mpr_birth) + 2 * sizeof(struct mpr_index_entry) == 56,
              "births.h says what a live block takes");

void mpr_births_free(struct mpr_births *births)
{
    free(births->at);
    mpr_index_free(&births->number);
    *births = (struct mpr_births){ .at = NULL };
}

static uint32_t place_for(struct mpr_births *births, uint64_t key)
{
    uint32_t place = mpr_index_get(&births->number, key);
    if (place) return place - 1;
    if (births->free) {
        place = births->free - 1;
        births->free = births->at[place].next;
    } else {
        MPR_GROW(births->at, births->count, births->cap);
        place = births->count++;
    }
    mpr_index_set(&births->number, key, place + 1);
    return place;
}

void mpr_births_add(struct mpr_births *births, uint64_t key, const struct mpr_birth *birth)
{
    const uint32_t place = place_for(births, key);
    births->at[place] = *birth;
}

bool mpr_births_take(struct mpr_births *births, uint64_t key, struct mpr_birth *birth)
{
    const uint32_t number = mpr_index_get(&births->number, key);
    if (!number) return false;
    *birth = births->at[number - 1];
    mpr_index_set(&births->number, key, 0);
    births->at[number - 1] = (struct mpr_birth){ .cell = MPR_NO_CELL, .next = births->free };
    births->free = number;
    return true;
}

void mpr_births_each(const struct mpr_births *births,
                     void (*each)(void *arg, uint64_t key, const struct mpr_birth *birth),
                     void *arg)
{
    if (!births->number.at) return;
    for (size_t i = 0; i <= births->number.mask; i++) {
        const struct mpr_index_entry *entry = &births->number.at[i];
        if (entry->value) each(arg, entry->key, &births->at[entry->value - 1]);
    }
}
