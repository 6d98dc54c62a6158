#include "estimates.h"

#include <math.h>
#include <stdlib.h>

#include "alloc.h"
#include "amount.h"
#include "levels.h"
#include "mpf/event.h"
#include "projection.h"

/* In only 1 of 700 cases is a known sum higher than the estimates by more standard deviations. */
enum { DEVIATIONS = 3 };

void mpr_estimates_free(struct mpr_estimates *e) { free(e->cell); }

const struct mpr_sampling *mpr_estimates_sampling(const struct mpr_estimates *e, uint8_t heap)
{
    if (heap == MPF_HEAP_PYTHON && e->python.mean > 0) return &e->python;
    return heap == MPF_HEAP_HOST && e->host.mean > 0 ? &e->host : &e->stacks;
}

bool mpr_estimates_heap_is_sampled(const struct mpr_estimates *e,
                                   const struct mpr_accounts *accounts, uint8_t heap)
{
    for (uint32_t i = 0; i < accounts->cells; i++)
        if (accounts->cell[i].heap == heap && mpr_estimates_is_sampled(e, i)) return true;
    return false;
}

static bool is_sample(const struct mpr_sampling *s, uint64_t size)
{
    return size && size < s->below;
}

struct mpr_weight mpr_estimates_weight(const struct mpr_sampling *s, uint64_t size)
{
    const double p = is_sample(s, size) ? -expm1(-(double)size / s->mean) : 1,
                 bytes = (double)size / p;
    if (p == 1) return (struct mpr_weight){ 0 };
    const int64_t more = mpr_signed_sub(llround(bytes), mpr_saturating_signed(size));
    return (struct mpr_weight){ (double)more, 1 / p - 1, bytes * bytes * (1 - p) };
}

/* Returns the cell's estimate, after saving its state at the peak. */
static struct mpr_estimate *before_change(struct mpr_estimates *e,
                                          const struct mpr_accounts *accounts, uint32_t cell)
{
    mpr_touched_cells_tick(accounts->touches);
    if (accounts->levels) mpr_levels_before_estimate(accounts->levels, accounts, cell);
    MPR_REACH(e->cell, cell, e->cells);
    struct mpr_estimate *c = &e->cell[cell];
    const uint64_t epoch = accounts->heap[accounts->cell[cell].heap].epoch;
    if (c->epoch == epoch) return c;
    c->epoch = epoch;
    c->saved = mpr_estimate_now(c);
    return c;
}

uint64_t mpr_estimates_change(struct mpr_estimates *e, const struct mpr_accounts *accounts,
                              uint32_t cell, uint64_t size, int sign)
{
    const uint8_t heap = accounts->cell[cell].heap;
    const bool only_samples = heap == MPF_HEAP_PYTHON;
    const struct mpr_sampling *s = mpr_estimates_sampling(e, heap);
    const struct mpr_weight more = mpr_estimates_weight(s, size);
    const int64_t bytes = sign * (int64_t)more.bytes;
    const bool sampled = only_samples || is_sample(s, size);
    struct mpr_estimate *c = before_change(e, accounts, cell);
    c->now.blocks += sign * more.blocks;
    c->live += (uint64_t)(sign * sampled);
    *(sign > 0 ? &c->variance_added : &c->variance_removed) += more.variance;
    if (sign > 0) {
        c->allocations += more.blocks;
        c->samples += sampled;
    }
    e->newest = (struct mpr_estimate_change){
        cell, sign, { .bytes = only_samples ? 0 : more.bytes, .variance = more.variance }
    };
    e->changes++;
    if (only_samples) return size + (uint64_t)more.bytes;
    c->now.bytes = mpr_signed_add(c->now.bytes, bytes);
    if (sign > 0) {
        const uint64_t all = accounts->cell[cell].bytes + size + (uint64_t)c->now.bytes;
        if (all > c->own_peak) c->own_peak = all;
    }
    if (accounts->own_peaks)
        mpr_own_peaks_estimate(accounts->own_peaks, cell, sign > 0 ? size : 0, bytes);
    return size;
}

void mpr_estimates_repeat(struct mpr_estimates *e, const struct mpr_accounts *accounts,
                          uint32_t cell, const struct mpr_weight *weight, int sign)
{
    struct mpr_estimate *c = before_change(e, accounts, cell);
    c->now.bytes += sign * (int64_t)weight->bytes;
    c->variance_added += sign * weight->variance;
}

struct mpr_estimate_state mpr_estimates_at_peak(const struct mpr_estimates *e,
                                                const struct mpr_accounts *accounts, uint32_t cell)
{
    if (cell >= e->cells) return (struct mpr_estimate_state){ 0 };
    const struct mpr_estimate *c = &e->cell[cell];
    const bool saved = c->epoch == accounts->heap[accounts->cell[cell].heap].epoch;
    struct mpr_estimate_state state = saved ? c->saved : mpr_estimate_now(c);
    state.variance = fmax(0, state.variance);
    return state;
}

uint64_t mpr_estimates_bytes_now(const struct mpr_estimates *e, uint32_t cell)
{
    return cell < e->cells && e->cell[cell].now.bytes > 0 ? (uint64_t)e->cell[cell].now.bytes : 0;
}

uint64_t mpr_estimates_variance_now(const struct mpr_estimates *e,
                                    const struct mpr_accounts *accounts, uint32_t cell)
{
    if (cell >= e->cells) return 0;
    const struct mpr_estimate *c = &e->cell[cell];
    return mpr_estimates_units(e, accounts->cell[cell].heap, mpr_estimate_now(c).variance);
}

uint64_t mpr_estimates_units(const struct mpr_estimates *e, uint8_t heap, double variance)
{
    const double mean = mpr_estimates_sampling(e, heap)->mean;
    return variance > 0 ? (uint64_t)(variance / (mean * mean / 4096) + 0.5) : 0;
}

bool mpr_estimates_are_by_chance(const struct mpr_represented_sum *sum)
{
    const double missing = sum->known - sum->estimated;
    if (sum->estimated <= 0 || missing <= 0) return sum->estimated > 0;
    const double expected = sum->variance * sum->known / sum->estimated;
    return missing * missing <= DEVIATIONS * DEVIATIONS * expected;
}

double mpr_estimates_factor(const struct mpr_represented_sum *sum)
{
    return mpr_estimates_are_by_chance(sum) ? sum->known / sum->estimated : 1;
}

struct mpr_variance mpr_estimates_scaled_variance(const struct mpr_represented_sum *sum,
                                                  double bytes, double own, double mean)
{
    if (sum->is_theirs || !mpr_estimates_are_by_chance(sum))
        return (struct mpr_variance){ .own = own };
    const double factor = mpr_estimates_factor(sum), square = factor * factor;
    return (struct mpr_variance){ .own = own * square,
                                  .part = bytes / sum->estimated,
                                  .all = (sum->variance + mean * mean) * square };
}

static double variance_of_blocks(double blocks, uint64_t samples)
{
    return samples ? blocks * blocks / (double)samples : 0;
}

void mpr_estimates_add_blocks(struct mpr_estimated_blocks *all, double blocks, uint64_t samples)
{
    all->sum += blocks;
    all->variance += variance_of_blocks(blocks, samples);
}

double mpr_estimates_blocks(const struct mpr_estimated_blocks *all, double blocks, uint64_t samples)
{
    const double number = blocks * all->factor, excess = all->sum * all->factor - all->known;
    if (excess <= 0 || all->variance <= 0) return number;
    return fmax(0, number - excess * variance_of_blocks(blocks, samples) / all->variance);
}

struct mpr_estimate_scale mpr_estimates_scale(const struct mpr_estimates *e,
                                              const struct mpr_accounts *accounts,
                                              const struct mpr_cell *rest)
{
    const struct mpr_cell_values rest_at_peak = mpr_accounts_at_peak(accounts, rest);
    struct mpr_represented_sum peak = { .known = (double)rest_at_peak.bytes },
                               end = { .known = (double)rest->bytes };
    struct mpr_estimate_scale scale = {
        .blocks = { .known = (double)rest_at_peak.blocks },
        .end_blocks = { .known = (double)rest->blocks },
        .allocations = { .known = (double)rest->allocations, .factor = 1 },
    };
    for (uint32_t i = 0; i < accounts->cells && i < e->cells; i++) {
        if (accounts->cell[i].heap != rest->heap) continue;
        const struct mpr_estimate *c = &e->cell[i];
        const struct mpr_estimate_state at_peak = mpr_estimates_at_peak(e, accounts, i);
        peak.estimated += (double)at_peak.bytes;
        peak.variance += at_peak.variance;
        end.estimated += (double)c->now.bytes;
        end.variance += fmax(0, mpr_estimate_now(c).variance);
        mpr_estimates_add_blocks(&scale.blocks, at_peak.blocks, at_peak.samples);
        mpr_estimates_add_blocks(&scale.end_blocks, c->now.blocks, c->live);
        mpr_estimates_add_blocks(&scale.allocations, c->allocations, c->samples);
    }
    peak.is_theirs = rest->heap == MPF_HEAP_HOST && e->host_is_estimated;
    scale.sum = peak;
    scale.bytes = scale.blocks.factor = mpr_estimates_factor(&peak);
    scale.end = scale.end_blocks.factor = mpr_estimates_factor(&end);
    return scale;
}
