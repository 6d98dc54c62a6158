#include "held.h"

#include "alloc.h"
#include "amount.h"

/* What sampled blocks of a heap stand for beyond what they are. */
struct unseen {
    int64_t then;
    uint64_t now, samples;
    double then_blocks, allocations;
    bool any;
};

static void add(struct mpr_held *held, const struct mpr_replay *r, uint32_t cell,
                const struct mpr_excess *excess, struct unseen *all)
{
    const struct mpr_estimates *e = &r->estimates;
    const struct mpr_more then =
        mpr_estimates_within(mpr_estimates_at_peak(e, &r->books, cell, &held->samples), *excess);
    const uint64_t now = mpr_estimates_at_end(e, cell, *excess);
    const double allocations = e->cell[cell].allocations * excess->allocations;
    held->then += (uint64_t)then.bytes;
    held->then_blocks += (uint64_t)then.blocks;
    held->now += now;
    held->allocations += (uint64_t)allocations;
    held->estimated = true;
    all->then = mpr_plus(all->then, then.bytes);
    all->then_blocks += then.blocks;
    all->now += now;
    all->allocations += allocations;
    all->samples += held->samples;
    all->any = true;
}

static void take_from(struct mpr_held *rest, const struct unseen *all)
{
    rest->now = mpr_less(rest->now, all->now);
    rest->estimated = all->any;
    if (!all->samples) return;
    rest->then = mpr_less(rest->then, (uint64_t)all->then);
    rest->then_blocks = mpr_less(rest->then_blocks, (uint64_t)all->then_blocks);
    rest->allocations = mpr_less(rest->allocations, (uint64_t)all->allocations);
}

/* Of host/python the books have the bytes that samples stand for. */
static bool is_weighed(const struct mpr_replay *r, uint8_t heap)
{
    return heap != MPF_HEAP_PYTHON && r->estimates.mean > 0 && mpr_replay_by_stacks(r);
}

static void weigh(struct mpr_held *held, const struct mpr_replay *r, uint8_t heap)
{
    const struct mpr_estimates *e = &r->estimates;
    const struct mpr_excess excess = mpr_estimates_excess(e, &r->books, heap);
    struct unseen all = { 0 };
    struct mpr_held *rest = NULL;
    for (uint32_t i = 0; i < r->books.cells; i++) {
        if (r->books.cell[i].heap != heap) continue;
        if (!r->books.cell[i].key) rest = &held[i];
        if (i < e->cells && e->cell[i].samples) add(&held[i], r, i, &excess, &all);
    }
    if (rest) take_from(rest, &all);
}

static void fill(struct mpr_held *held, const struct mpr_replay *r, uint8_t heap)
{
    for (uint32_t i = 0; i < r->books.cells; i++) {
        const struct mpr_cell *cell = &r->books.cell[i];
        if (cell->heap != heap) continue;
        held[i] = (struct mpr_held){ .then = mpr_books_bytes_at_peak(&r->books, cell),
                                     .now = cell->bytes,
                                     .then_blocks = mpr_books_blocks_at_peak(&r->books, cell),
                                     .allocations = cell->allocations };
    }
    if (is_weighed(r, heap)) weigh(held, r, heap);
}

struct mpr_held *mpr_held_heap(const struct mpr_replay *r, uint8_t heap)
{
    struct mpr_held *held = mpr_alloc(r->books.cells, sizeof *held);
    fill(held, r, heap);
    return held;
}

struct mpr_held *mpr_held_host(const struct mpr_replay *r)
{
    struct mpr_held *held = mpr_alloc(r->books.cells, sizeof *held);
    for (uint8_t heap = MPF_HEAP_HOST; heap <= MPF_HEAP_SHM; heap++) fill(held, r, heap);
    return held;
}
