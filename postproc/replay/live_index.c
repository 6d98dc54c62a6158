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
                        const struct mpr_live_block *birth)
{
    uint32_t number = mpr_index_get(&live->number, key);
    if (!number) {
        if (live->free) {
            number = live->free;
            live->free = live->at[number - 1].next;
        } else {
            MPR_GROW(live->at, live->count, live->cap);
            number = ++live->count;
        }
        mpr_index_set(&live->number, key, number);
    }
    live->at[number - 1] = *birth;
}

bool mpr_live_index_take(struct mpr_live_index *live, uint64_t key, struct mpr_live_block *birth)
{
    const uint32_t number = mpr_index_get(&live->number, key);
    if (!number) return false;
    *birth = live->at[number - 1];
    mpr_index_set(&live->number, key, 0);
    live->at[number - 1] = (struct mpr_live_block){ .cell = MPR_NO_CELL, .next = live->free };
    live->free = number;
    return true;
}

void mpr_live_index_each(const struct mpr_live_index *live,
                         void (*each)(void *arg, uint64_t key, const struct mpr_live_block *birth),
                         void *arg)
{
    if (!live->number.at) return;
    for (size_t i = 0; i <= live->number.mask; i++) {
        const struct mpr_index_entry *entry = &live->number.at[i];
        if (entry->value) each(arg, entry->key, &live->at[entry->value - 1]);
    }
}

/* ---- the ledger */

static void report(struct mpr_ledger *ledger, uint64_t key, const struct mpr_live_block *birth,
                   uint64_t to, struct mpr_freer freer)
{
    const struct mpr_ledger_entry entry = { .key = key,
                                            .size = birth->size,
                                            .from = birth->time,
                                            .to = to,
                                            .cell = birth->cell,
                                            .freer = freer };
    ledger->report(ledger->arg, &entry);
}

void mpr_ledger_remove(struct mpr_ledger *ledger, uint64_t key, uint64_t time,
                       struct mpr_freer freer)
{
    struct mpr_live_block birth;
    if (mpr_live_index_take(&ledger->live, key, &birth)) report(ledger, key, &birth, time, freer);
}

static void report_live(void *arg, uint64_t key, const struct mpr_live_block *birth)
{
    report(arg, key, birth, UINT64_MAX, (struct mpr_freer){ MPR_NOBODY, 0 });
}

void mpr_ledger_end(struct mpr_ledger *ledger)
{
    mpr_live_index_each(&ledger->live, report_live, ledger);
}
