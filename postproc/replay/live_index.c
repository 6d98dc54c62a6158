#include "live_index.h"

#include <assert.h>
#include <stdlib.h>

#include "alloc.h"

static_assert(sizeof(struct mpr_live_block) + 2 * sizeof(struct mpr_index_entry) == 56,
              "live_index.h has the memory for a live block");

void mpr_live_index_free(struct mpr_live_index *live)
{
    free(live->at);
    mpr_index_free(&live->number);
    *live = (struct mpr_live_index){ .at = NULL };
}

void mpr_live_index_add(struct mpr_live_index *live, uint64_t key,
                        const struct mpr_live_block *block)
{
    uint32_t number = mpr_index_get(&live->number, key);
    if (!number) {
        number = MPR_PLACE(live->at, live->count, live->cap, live->free, next);
        mpr_index_set(&live->number, key, number);
    }
    live->at[number - 1] = *block;
}

bool mpr_live_index_take(struct mpr_live_index *live, uint64_t key, struct mpr_live_block *block)
{
    const uint32_t number = mpr_index_get(&live->number, key);
    if (!number) return false;
    *block = live->at[number - 1];
    mpr_index_set(&live->number, key, 0);
    live->at[number - 1] = (struct mpr_live_block){ .cell = MPR_NO_CELL, .next = live->free };
    live->free = number;
    return true;
}

/* ---- the ledger */

static void report(const struct mpr_ledger *ledger, uint64_t key,
                   const struct mpr_live_block *block, uint64_t to, struct mpr_freer freer)
{
    const struct mpr_ledger_entry entry = { .key = key,
                                            .size = block->size,
                                            .from = block->time,
                                            .to = to,
                                            .cell = block->cell,
                                            .freer = freer };
    ledger->report(ledger->arg, &entry);
}

void mpr_ledger_remove(struct mpr_ledger *ledger, uint64_t key, uint64_t time,
                       struct mpr_freer freer)
{
    struct mpr_live_block block;
    if (mpr_live_index_take(&ledger->live, key, &block)) report(ledger, key, &block, time, freer);
}

void mpr_ledger_end(struct mpr_ledger *ledger)
{
    MPR_INDEX_ALL(entry, &ledger->live.number)
    report(ledger, entry->key, &ledger->live.at[entry->value - 1], UINT64_MAX,
           (struct mpr_freer){ MPR_NOBODY, 0 });
}
