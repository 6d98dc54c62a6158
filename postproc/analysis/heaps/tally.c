#include "tally.h"

#include <assert.h>
#include <string.h>

#include "lasting.h"

static_assert((int)MPR_TALLY_CLASSES == MPR_LIFE_CLASSES, "the classes are replay's");

void mpr_tally_add(struct mpr_tally *sum, const struct mpr_tally *other)
{
    sum->blocks += other->blocks;
    sum->bytes += other->bytes;
    sum->freed += other->freed;
    sum->soon += other->soon;
    sum->soon_bytes += other->soon_bytes;
    for (int i = 0; i < MPR_TALLY_CLASSES; i++) sum->life[i] += other->life[i];
}

/* From 2^(n-1) on, to below 2^n: off by a third at most. */
static uint64_t middle_of(int class)
{
    return class < 2 ? (uint64_t) class : UINT64_C(3) << (class - 2);
}

uint64_t mpr_tally_median(const struct mpr_tally *tally)
{
    uint64_t seen = 0;
    if (!tally->freed) return MPR_NO_MEDIAN;
    for (int i = 0; i < MPR_TALLY_CLASSES; i++) {
        seen += tally->life[i];
        if (2 * seen >= tally->freed) return middle_of(i);
    }
    return MPR_NO_MEDIAN;
}

struct mpr_tally mpr_tally_of(const struct mpr_lasting *lasting, uint32_t cell)
{
    const struct mpr_lasting_cell of = mpr_lasting_of(lasting, cell);
    struct mpr_tally tally = { of.births, of.bytes, of.ends, of.soon, of.soon_bytes, { 0 } };
    if (of.life) memcpy(tally.life, of.life, sizeof tally.life);
    return tally;
}
