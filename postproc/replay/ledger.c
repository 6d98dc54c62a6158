#include "ledger.h"

void mpr_ledger_free(struct mpr_ledger *ledger) { mpr_births_free(&ledger->live); }

void mpr_ledger_born(struct mpr_ledger *ledger, uint64_t key, uint64_t size, uint32_t cell,
                     uint64_t time)
{
    const struct mpr_birth birth = { .time = time, .size = size, .cell = cell };
    mpr_births_add(&ledger->live, key, &birth);
}

static void tell(struct mpr_ledger *ledger, uint64_t key, const struct mpr_birth *birth,
                 uint64_t to, struct mpr_freer freer)
{
    const struct mpr_ledger_entry entry = { .key = key,
                                            .size = birth->size,
                                            .from = birth->time,
                                            .to = to,
                                            .cell = birth->cell,
                                            .freer = freer };
    ledger->tell(ledger->arg, &entry);
}

void mpr_ledger_gone(struct mpr_ledger *ledger, uint64_t key, uint64_t time, struct mpr_freer freer)
{
    struct mpr_birth birth;
    if (mpr_births_take(&ledger->live, key, &birth)) tell(ledger, key, &birth, time, freer);
}

static void lives(void *arg, uint64_t key, const struct mpr_birth *birth)
{
    tell(arg, key, birth, UINT64_MAX, (struct mpr_freer){ MPR_NOBODY, 0 });
}

void mpr_ledger_end(struct mpr_ledger *ledger) { mpr_births_each(&ledger->live, lives, ledger); }
