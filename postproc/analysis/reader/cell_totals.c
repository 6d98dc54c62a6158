#include "cell_totals.h"

#include "alloc.h"
#include "amount.h"

/* Sums over the sampled cells of a heap: the blocks that samples represent, without the samples. */
struct represented {
    struct mpr_cell_totals sum;
    struct {
        double bytes, end_bytes, blocks, end_blocks, allocations;
    } rounding; /* errors carried from cell to cell (mpr_estimates_whole) */
};

static void add_totals(struct mpr_cell_totals *to, const struct mpr_cell_totals *more)
{
    to->bytes += more->bytes;
    to->blocks += more->blocks;
    to->end_bytes += more->end_bytes;
    to->end_blocks += more->end_blocks;
    to->allocations += more->allocations;
    to->samples += more->samples;
    mpr_variance_add(&to->variance, &more->variance);
    to->estimated = true;
}

static void add(struct mpr_cell_totals *totals, const struct mpr_replay *r, uint32_t cell,
                const struct mpr_estimate_scale *scale, struct represented *all)
{
    const struct mpr_estimates *e = &r->estimates;
    const struct mpr_estimate *of = &e->cell[cell];
    const struct mpr_estimate_state at_peak = mpr_estimates_at_peak(e, &r->accounts, cell);
    struct mpr_cell_totals more = { .samples = at_peak.samples };
    more.bytes = mpr_estimates_whole((double)at_peak.bytes * scale->bytes, &all->rounding.bytes);
    more.end_bytes =
        mpr_estimates_whole((double)of->now.bytes * scale->end, &all->rounding.end_bytes);
    more.blocks = mpr_estimates_whole(
        mpr_estimates_blocks(&scale->blocks, at_peak.blocks, more.samples), &all->rounding.blocks);
    more.end_blocks =
        mpr_estimates_whole(mpr_estimates_blocks(&scale->end_blocks, of->now.blocks, of->live),
                            &all->rounding.end_blocks);
    more.allocations =
        mpr_estimates_whole(mpr_estimates_blocks(&scale->allocations, of->allocations, of->samples),
                            &all->rounding.allocations);
    more.variance =
        mpr_estimates_scaled_variance(&scale->sum, (double)at_peak.bytes, at_peak.variance,
                                      mpr_estimates_sampling(e, r->accounts.cell[cell].heap)->mean);
    add_totals(totals, &more);
    add_totals(&all->sum, &more);
    const uint64_t whole = r->accounts.heap[r->accounts.cell[cell].heap].peak_bytes;
    if (of->own_peak > totals->own_peak) totals->own_peak = of->own_peak;
    if (totals->bytes > totals->own_peak) totals->own_peak = totals->bytes;
    if (mpr_instant_is_peak(r->options.at) && totals->own_peak > whole) totals->own_peak = whole;
}

static void apply_estimates(struct mpr_cell_totals *totals, const struct mpr_replay *r,
                            uint8_t heap)
{
    const struct mpr_estimates *e = &r->estimates;
    const struct mpr_cell nobody = { .heap = heap }, *rest = NULL;
    for (uint32_t i = 0; !rest && i < r->accounts.cells; i++) {
        const struct mpr_cell *cell = &r->accounts.cell[i];
        if (cell->heap == heap && mpr_replay_is_represented(r, cell)) rest = cell;
    }
    const struct mpr_estimate_scale scale =
        mpr_estimates_scale(e, &r->accounts, rest ? rest : &nobody);
    struct represented all = { .sum = { 0 } };
    for (uint32_t i = 0; i < r->accounts.cells && i < e->cells; i++)
        if (r->accounts.cell[i].heap == heap && e->cell[i].samples)
            add(&totals[i], r, i, &scale, &all);
    if (!rest) return;
    struct mpr_cell_totals *left = &totals[rest - r->accounts.cell];
    left->end_bytes = mpr_saturating_sub(left->end_bytes, all.sum.end_bytes);
    left->end_blocks = mpr_saturating_sub(left->end_blocks, all.sum.end_blocks);
    left->allocations = mpr_saturating_sub(left->allocations, all.sum.allocations);
    left->estimated = all.sum.estimated;
    if (!all.sum.samples) return;
    /* if the estimates were scaled to the remainder, nothing is left of it */
    if (!mpr_estimates_are_by_chance(&scale.sum)) left->variance = all.sum.variance;
    left->bytes = mpr_saturating_sub(left->bytes, all.sum.bytes);
    left->blocks = mpr_saturating_sub(left->blocks, all.sum.blocks);
    left->own_peak = left->bytes; /* a lower bound */
}

static void fill(struct mpr_cell_totals *totals, const struct mpr_replay *r, uint8_t heap)
{
    double blocks_error = 0, end_error = 0, allocations_error = 0;
    for (uint32_t i = 0; i < r->accounts.cells; i++) {
        const struct mpr_cell *cell = &r->accounts.cell[i];
        struct mpr_cell_totals *of = &totals[i];
        if (cell->heap != heap) continue;
        *of = (struct mpr_cell_totals){
            .bytes = mpr_accounts_at_peak(&r->accounts, cell).bytes,
            .end_bytes = cell->bytes,
            .blocks = mpr_accounts_at_peak(&r->accounts, cell).blocks,
            .end_blocks = cell->blocks,
            .allocations = cell->allocations,
            .own_peak = cell->own_peak,
        };
        if (heap != MPF_HEAP_PYTHON) continue;
        of->estimated = true;
        if (i >= r->estimates.cells) continue;
        /* The accounts have the represented bytes, but only the sampled blocks.  The numbers of
         * blocks are rounded so that the cells add up to the heap's own rounded number. */
        const struct mpr_estimate *e = &r->estimates.cell[i];
        const struct mpr_estimate_state at_peak =
            mpr_estimates_at_peak(&r->estimates, &r->accounts, i);
        of->blocks += mpr_estimates_whole(at_peak.blocks, &blocks_error);
        of->end_blocks += mpr_estimates_whole(e->now.blocks, &end_error);
        of->allocations += mpr_estimates_whole(e->allocations, &allocations_error);
        of->samples = at_peak.samples;
        of->variance.own = at_peak.variance;
    }
    if (mpr_replay_extrapolates(r, heap)) apply_estimates(totals, r, heap);
}

struct mpr_cell_totals *mpr_cell_totals_heap(const struct mpr_replay *r, uint8_t heap)
{
    struct mpr_cell_totals *totals = mpr_alloc(r->accounts.cells, sizeof *totals);
    fill(totals, r, heap);
    return totals;
}

struct mpr_cell_totals *mpr_cell_totals_host(const struct mpr_replay *r)
{
    struct mpr_cell_totals *totals = mpr_alloc(r->accounts.cells, sizeof *totals);
    for (uint8_t heap = MPF_HEAP_HOST; heap <= MPF_HEAP_SHM; heap++) fill(totals, r, heap);
    return totals;
}
