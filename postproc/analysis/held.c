#include "held.h"

#include "amount.h"

static void take_from(struct mpr_held *rest, const struct mpr_held *others)
{
    rest->then = mpr_less(rest->then, others->then);
    rest->now = mpr_less(rest->now, others->now);
    rest->estimated = others->estimated;
}

static void weigh(struct mpr_held *held, const struct mpr_replay *r, uint8_t heap)
{
    const struct mpr_estimates *e = &r->estimates;
    const struct mpr_excess excess = mpr_estimates_excess(e, &r->books, heap);
    struct mpr_held more = { 0 }, *rest = NULL;
    for (uint32_t i = 0; i < r->books.cells; i++) {
        uint64_t samples;
        if (r->books.cell[i].heap != heap) continue;
        if (!r->books.cell[i].key) rest = &held[i];
        if (i >= e->cells || !e->cell[i].samples) continue;
        const struct mpr_more then =
            mpr_estimates_within(mpr_estimates_at_peak(e, &r->books, i, &samples), excess);
        const struct mpr_held add = { (uint64_t)then.bytes, mpr_estimates_at_end(e, i, excess),
                                      true };
        held[i] = (struct mpr_held){ held[i].then + add.then, held[i].now + add.now, true };
        more = (struct mpr_held){ more.then + add.then, more.now + add.now, true };
    }
    if (rest) take_from(rest, &more);
}

void mpr_held_heap(struct mpr_held *held, const struct mpr_replay *r, uint8_t heap)
{
    for (uint32_t i = 0; i < r->books.cells; i++) {
        const struct mpr_cell *cell = &r->books.cell[i];
        if (cell->heap == heap)
            held[i] =
                (struct mpr_held){ mpr_books_bytes_at_peak(&r->books, cell), cell->bytes, false };
    }
    if (r->estimates.mean > 0 && mpr_replay_by_stacks(r)) weigh(held, r, heap);
}
