#include "cell_totals.h"

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

static uint64_t own_peak(const struct mpr_replay *r, const struct mpr_cell_totals *held,
                         const struct mpr_estimate *e, uint8_t heap)
{
    const uint64_t whole = r->accounts.heap[heap].peak_bytes,
                   most = e->own_peak > held->own_peak ? e->own_peak : held->own_peak;
    return mpr_instant_is_peak(r->options.at) && most > whole ? whole : most;
}

static void add(struct mpr_cell_totals *held, const struct mpr_replay *r, uint32_t cell,
                const struct mpr_overestimate *excess, struct unseen *all)
{
    const struct mpr_estimates *e = &r->estimates;
    const struct mpr_estimate *of = &e->cell[cell];
    const struct mpr_represented at_peak =
        mpr_estimates_at_peak(e, &r->accounts, cell, &held->samples);
    const uint64_t then =
                       mpr_estimates_whole((double)at_peak.bytes * excess->bytes, &all->lack.then),
                   now = mpr_estimates_whole((double)of->now.bytes * excess->end, &all->lack.now),
                   blocks =
                       mpr_estimates_whole(at_peak.blocks * excess->blocks, &all->lack.then_blocks),
                   now_blocks = mpr_estimates_whole(of->now.blocks * excess->end_blocks,
                                                    &all->lack.now_blocks),
                   allocations = mpr_estimates_whole(of->allocations * excess->allocations,
                                                     &all->lack.allocations);
    held->variance = mpr_estimates_variance(e, &r->accounts, cell) * excess->bytes * excess->bytes;
    held->then += then;
    held->then_blocks += blocks;
    held->now += now;
    held->now_blocks += now_blocks;
    held->allocations += allocations;
    held->own_peak = own_peak(r, held, of, r->accounts.cell[cell].heap);
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

static void take_from(struct mpr_cell_totals *rest, const struct unseen *all)
{
    rest->now = mpr_saturating_sub(rest->now, all->now);
    rest->now_blocks = mpr_saturating_sub(rest->now_blocks, all->now_blocks);
    rest->allocations = mpr_saturating_sub(rest->allocations, all->allocations);
    rest->estimated = all->any;
    if (!all->samples) return;
    rest->variance = all->variance;
    rest->then = mpr_saturating_sub(rest->then, all->then);
    rest->then_blocks = mpr_saturating_sub(rest->then_blocks, all->then_blocks);
    rest->own_peak = rest->then; /* a lower bound */
}

/* For host/python the accounts have the represented bytes, but only the sampled blocks. */
static void add_blocks(struct mpr_cell_totals *held, const struct mpr_replay *r, uint32_t cell,
                       struct mpr_rounding_errors *rest)
{
    const struct mpr_represented_counts unseen =
        mpr_estimates_counts(&r->estimates, &r->accounts, cell, rest);
    held->then_blocks += unseen.blocks;
    held->now_blocks += unseen.end_blocks;
    held->allocations += unseen.allocations;
    held->samples = unseen.samples;
    held->variance = mpr_estimates_variance(&r->estimates, &r->accounts, cell);
    held->estimated = true;
}

static const struct mpr_cell *rest_of(const struct mpr_replay *r, uint8_t heap)
{
    for (uint32_t i = 0; i < r->accounts.cells; i++) {
        const struct mpr_cell *cell = &r->accounts.cell[i];
        if (cell->heap == heap && mpr_replay_is_represented(r, cell)) return cell;
    }
    return NULL;
}

static void weigh(struct mpr_cell_totals *held, const struct mpr_replay *r, uint8_t heap)
{
    const struct mpr_estimates *e = &r->estimates;
    const struct mpr_cell nobody = { .heap = heap }, *const rest = rest_of(r, heap);
    const struct mpr_overestimate excess =
        mpr_estimates_overestimate(e, &r->accounts, rest ? rest : &nobody);
    struct unseen all = { 0 };
    for (uint32_t i = 0; i < r->accounts.cells && i < e->cells; i++)
        if (r->accounts.cell[i].heap == heap && e->cell[i].samples)
            add(&held[i], r, i, &excess, &all);
    if (rest) take_from(&held[rest - r->accounts.cell], &all);
}

static void fill(struct mpr_cell_totals *held, const struct mpr_replay *r, uint8_t heap)
{
    struct mpr_rounding_errors rest = { 0 };
    for (uint32_t i = 0; i < r->accounts.cells; i++) {
        const struct mpr_cell *cell = &r->accounts.cell[i];
        if (cell->heap != heap) continue;
        held[i] = (struct mpr_cell_totals){ .then = mpr_accounts_bytes_at_peak(&r->accounts, cell),
                                            .now = cell->bytes,
                                            .then_blocks =
                                                mpr_accounts_blocks_at_peak(&r->accounts, cell),
                                            .now_blocks = cell->blocks,
                                            .allocations = cell->allocations,
                                            .own_peak = cell->own_peak };
        if (heap == MPF_HEAP_PYTHON) add_blocks(&held[i], r, i, &rest);
    }
    if (mpr_replay_extrapolates(r, heap)) weigh(held, r, heap);
}

struct mpr_cell_totals *mpr_cell_totals_heap(const struct mpr_replay *r, uint8_t heap)
{
    struct mpr_cell_totals *held = mpr_alloc(r->accounts.cells, sizeof *held);
    fill(held, r, heap);
    return held;
}

struct mpr_cell_totals *mpr_cell_totals_host(const struct mpr_replay *r)
{
    struct mpr_cell_totals *held = mpr_alloc(r->accounts.cells, sizeof *held);
    for (uint8_t heap = MPF_HEAP_HOST; heap <= MPF_HEAP_SHM; heap++) fill(held, r, heap);
    return held;
}
