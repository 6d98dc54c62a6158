#include "held.h"

#include "alloc.h"
#include "amount.h"

/* The blocks that a heap's sampled blocks represent, without the samples. */
struct unseen {
    uint64_t then, now, then_blocks, now_blocks, allocations, samples;
    double variance;
    struct {
        double then, now, then_blocks, now_blocks, allocations;
    } lack; /* mpr_estimates_whole */
    bool any;
};

static uint64_t own_peak(const struct mpr_replay *r, const struct mpr_held *held,
                         const struct mpr_estimate *e, uint8_t heap)
{
    const uint64_t whole = r->books.heap[heap].peak_bytes,
                   most = e->own_peak > held->own_peak ? e->own_peak : held->own_peak;
    return mpr_instant_is_peak(r->options.at) && most > whole ? whole : most;
}

static void add(struct mpr_held *held, const struct mpr_replay *r, uint32_t cell,
                const struct mpr_excess *excess, struct unseen *all)
{
    const struct mpr_estimates *e = &r->estimates;
    const struct mpr_estimate *of = &e->cell[cell];
    const struct mpr_more at_peak = mpr_estimates_at_peak(e, &r->books, cell, &held->samples);
    const uint64_t then =
                       mpr_estimates_whole((double)at_peak.bytes * excess->bytes, &all->lack.then),
                   now = mpr_estimates_whole((double)of->now.bytes * excess->end, &all->lack.now),
                   blocks =
                       mpr_estimates_whole(at_peak.blocks * excess->blocks, &all->lack.then_blocks),
                   now_blocks = mpr_estimates_whole(of->now.blocks * excess->end_blocks,
                                                    &all->lack.now_blocks),
                   allocations = mpr_estimates_whole(of->allocations * excess->allocations,
                                                     &all->lack.allocations);
    held->variance = mpr_estimates_variance(e, &r->books, cell) * excess->bytes * excess->bytes;
    held->then += then;
    held->then_blocks += blocks;
    held->now += now;
    held->now_blocks += now_blocks;
    held->allocations += allocations;
    held->own_peak = own_peak(r, held, of, r->books.cell[cell].heap);
    held->estimated = true;
    all->then += then;
    all->then_blocks += blocks;
    all->now += now;
    all->now_blocks += now_blocks;
    all->allocations += allocations;
    all->samples += held->samples;
    all->variance += held->variance;
    all->any = true;
}

static void take_from(struct mpr_held *rest, const struct unseen *all)
{
    rest->now = mpr_less(rest->now, all->now);
    rest->now_blocks = mpr_less(rest->now_blocks, all->now_blocks);
    rest->allocations = mpr_less(rest->allocations, all->allocations);
    rest->estimated = all->any;
    if (!all->samples) return;
    rest->variance = all->variance;
    rest->then = mpr_less(rest->then, all->then);
    rest->then_blocks = mpr_less(rest->then_blocks, all->then_blocks);
    rest->own_peak = rest->then; /* a lower bound */
}

/* For host/python the books have the represented bytes, but only the sampled blocks. */
static void add_blocks(struct mpr_held *held, const struct mpr_replay *r, uint32_t cell,
                       struct mpr_unseen_rest *rest)
{
    const struct mpr_unseen unseen = mpr_estimates_unseen(&r->estimates, &r->books, cell, rest);
    held->then_blocks += unseen.blocks;
    held->now_blocks += unseen.end_blocks;
    held->allocations += unseen.allocations;
    held->samples = unseen.samples;
    held->variance = mpr_estimates_variance(&r->estimates, &r->books, cell);
    held->estimated = true;
}

static const struct mpr_cell *rest_of(const struct mpr_replay *r, uint8_t heap)
{
    for (uint32_t i = 0; i < r->books.cells; i++) {
        const struct mpr_cell *cell = &r->books.cell[i];
        if (cell->heap == heap && mpr_replay_is_rest(r, cell)) return cell;
    }
    return NULL;
}

static void weigh(struct mpr_held *held, const struct mpr_replay *r, uint8_t heap)
{
    const struct mpr_estimates *e = &r->estimates;
    const struct mpr_cell nobody = { .heap = heap }, *const rest = rest_of(r, heap);
    const struct mpr_excess excess = mpr_estimates_excess(e, &r->books, rest ? rest : &nobody);
    struct unseen all = { 0 };
    for (uint32_t i = 0; i < r->books.cells && i < e->cells; i++)
        if (r->books.cell[i].heap == heap && e->cell[i].samples) add(&held[i], r, i, &excess, &all);
    if (rest) take_from(&held[rest - r->books.cell], &all);
}

static void fill(struct mpr_held *held, const struct mpr_replay *r, uint8_t heap)
{
    struct mpr_unseen_rest rest = { 0 };
    for (uint32_t i = 0; i < r->books.cells; i++) {
        const struct mpr_cell *cell = &r->books.cell[i];
        if (cell->heap != heap) continue;
        held[i] = (struct mpr_held){ .then = mpr_books_bytes_at_peak(&r->books, cell),
                                     .now = cell->bytes,
                                     .then_blocks = mpr_books_blocks_at_peak(&r->books, cell),
                                     .now_blocks = cell->blocks,
                                     .allocations = cell->allocations,
                                     .own_peak = cell->own_peak };
        if (heap == MPF_HEAP_PYTHON) add_blocks(&held[i], r, i, &rest);
    }
    if (mpr_replay_weighs(r, heap)) weigh(held, r, heap);
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
