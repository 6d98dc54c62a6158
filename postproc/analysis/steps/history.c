#include "history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "mpf/event.h"

/* ---- values */

/* All blocks of host/python are samples. */
static bool has_estimates(const struct mpr_replay *r, uint8_t heap)
{
    return heap == MPF_HEAP_PYTHON || mpr_replay_extrapolates(r, heap);
}

/* The bytes of a heap of the host are the sum of what its samples represent. */
static bool is_sum_of_samples(const struct mpr_replay *r, uint8_t heap)
{
    return heap == MPF_HEAP_PYTHON || (heap == MPF_HEAP_HOST && r->options.host_sums_estimated);
}

static uint64_t add_rounded(uint64_t value, double more)
{
    if (more == 0) return value;
    const double sum = (double)value + more;
    if (sum >= 0x1p64) return UINT64_MAX;
    return sum > 0 ? (uint64_t)(sum + 0.5) : 0;
}

/* @sign: 1, or -1 to subtract. */
static void add_sampled(struct mpr_sampled *to, const struct mpr_sampled *s, int sign)
{
    to->represented.bytes = mpr_signed_add(to->represented.bytes, sign * s->represented.bytes);
    to->represented.blocks += sign * s->represented.blocks;
    to->variance_added += sign * s->variance_added;
    to->variance_removed += sign * s->variance_removed;
    to->samples += (uint64_t)sign * s->samples;
    to->live += (uint64_t)sign * s->live;
}

/* The heap's bytes in the accounts include those that the samples of host/python represent.  Its
 * blocks do not.  Both include those of host/heap, if its sums are estimates. */
static struct mpr_history_value heap_value(const struct mpr_history *h, uint8_t code)
{
    const struct mpr_heap *heap = &h->replay->accounts.heap[code];
    const struct mpr_sampled *all = code == MPF_HEAP_PYTHON ? &h->python : &h->host;
    struct mpr_history_value value = { .bytes = heap->bytes, .blocks = heap->blocks };
    if (!is_sum_of_samples(h->replay, code)) return value;
    if (code == MPF_HEAP_PYTHON) value.blocks = add_rounded(heap->blocks, all->represented.blocks);
    value.variance_added = all->variance_added;
    value.variance_removed = all->variance_removed;
    value.samples = all->samples;
    value.live = all->live;
    return value;
}

static void add_point(struct mpr_history *h, uint32_t index)
{
    const struct mpr_replay *r = h->replay;
    const struct mpr_cell *cell = &r->accounts.cell[index];
    struct mpr_history_past *past = &h->past[index];
    struct mpr_history_point point = { .bytes = cell->bytes,
                                       .blocks = cell->blocks,
                                       .at = (uint32_t)h->count };
    if (index < r->estimates.cells) {
        const struct mpr_estimate *e = &r->estimates.cell[index];
        point.sampled = (struct mpr_sampled){ e->now, e->variance_added, e->variance_removed,
                                              e->samples, e->live };
    }
    if (is_sum_of_samples(r, cell->heap)) {
        struct mpr_sampled *all = cell->heap == MPF_HEAP_PYTHON ? &h->python : &h->host;
        if (past->points) add_sampled(all, &past->point[past->points - 1].sampled, -1);
        add_sampled(all, &point.sampled, 1);
    }
    MPR_GROW(past->point, past->points, past->cap);
    past->point[past->points++] = point;
}

/* ---- instants */

/* Keeps the later one of each two instants. */
static void thin(struct mpr_history *h)
{
    h->count /= 2;
    h->keep_each *= 2;
    for (size_t i = 0; i < h->count; i++) h->at[i] = h->at[2 * i + 1];
    for (uint32_t c = 0; c < h->cells; c++) {
        struct mpr_history_past *past = &h->past[c];
        uint32_t points = 0;
        for (uint32_t i = 0; i < past->points; i++) {
            const uint32_t at = past->point[i].at / 2;
            if (!points || past->point[points - 1].at != at) points++;
            past->point[points - 1] = past->point[i];
            past->point[points - 1].at = at;
        }
        past->points = points;
    }
}

void mpr_history_take(struct mpr_history *h, uint64_t time)
{
    struct mpr_touched_cells *t = &h->touches;
    if (h->from && time < *h->from) return;
    h->instants++;
    if (h->count == MPR_HISTORY_MAX) thin(h);
    if (h->instants % h->keep_each) return;
    if (h->replay->accounts.cells) MPR_REACH(h->past, h->replay->accounts.cells - 1, h->cells);
    for (uint32_t i = 0; i < t->count; i++) {
        add_point(h, t->cell[i]);
        t->is_touched[t->cell[i]] = false;
    }
    t->count = 0;
    for (int i = 0; i < MPR_HEAPS; i++) h->at[h->count].heap[i] = heap_value(h, (uint8_t)i);
    mpr_lifetime_histogram_mark(&h->lifetimes);
    h->at[h->count].time = time;
    h->at[h->count++].number = h->instants;
}

/* ---- by the clock */

/* Adds the instants up to now.  If nothing happened for several intervals, each of their ends is
 * also an instant, so that a program that loads and then waits does not seem to load all the time.
 * Consecutive instants that are not kept are counted in one step, because with short intervals
 * there may be very many. */
static void on_tick(void *arg)
{
    struct mpr_history *h = arg;
    struct mpr_touched_cells *t = &h->touches;
    const bool is_past = *t->now > h->until;
    const uint64_t now = is_past ? h->until : *t->now, last = now - now % h->every,
                   from = h->from ? *h->from : 0;
    if (t->next <= last && from <= last) {
        uint64_t time = from > t->next ? last - (last - from) / h->every * h->every : t->next;
        for (uint64_t ticks = (last - time) / h->every + 1; ticks;) {
            uint64_t passed = h->keep_each - 1 - h->instants % h->keep_each;
            if (passed >= ticks) passed = ticks - 1;
            h->instants += passed;
            ticks -= passed + 1;
            time += passed * h->every;
            mpr_history_take(h, time);
            time += h->every;
        }
    }
    t->next = !is_past && last <= UINT64_MAX - h->every ? last + h->every : UINT64_MAX;
}

void mpr_history_end(struct mpr_history *h)
{
    if (h->every) mpr_touched_cells_tick(&h->touches);
}

void mpr_history_begin(struct mpr_history *h, struct mpr_replay *r, uint64_t every, uint64_t until)
{
    *h = (struct mpr_history){ .replay = r, .keep_each = 1, .every = every, .until = until };
    h->touches = (struct mpr_touched_cells){
        .now = &r->now, .next = every ? every : UINT64_MAX, .tick = on_tick, .arg = h
    };
    r->accounts.touches = &h->touches;
    r->lifetimes = &h->lifetimes;
}

void mpr_history_free(struct mpr_history *h)
{
    for (uint32_t i = 0; i < h->cells; i++) free(h->past[i].point);
    free(h->past);
    free(h->touches.cell);
    free(h->touches.is_touched);
    mpr_lifetime_histogram_free(&h->lifetimes);
    *h = (struct mpr_history){ .count = 0 };
}

/* ---- views */

static void sort_sources(struct mpr_history_view *v)
{
    const uint32_t *to = v->projection ? v->projection->to : NULL;
    const uint32_t cells = v->history->replay->accounts.cells,
                   made = v->projection ? v->projection->cells : cells,
                   count = v->history->cells < made ? v->history->cells : made;
    v->first = mpr_alloc((size_t)cells + 2, sizeof *v->first);
    v->source = mpr_alloc(count, sizeof *v->source);
    for (uint32_t i = 0; i < count; i++) v->first[(to ? to[i] : i) + 2]++;
    for (uint32_t i = 0; i < cells; i++) v->first[i + 2] += v->first[i + 1];
    for (uint32_t i = 0; i < count; i++) v->source[v->first[(to ? to[i] : i) + 1]++] = i;
}

/* Adds the values of a cell's sources at each instant. */
static void add_cell(const struct mpr_history_view *v, uint32_t cell, struct mpr_history_point *sum)
{
    const struct mpr_replay *r = v->history->replay;
    const bool has_samples = has_estimates(r, r->accounts.cell[cell].heap);
    for (uint32_t i = v->first[cell]; i < v->first[cell + 1]; i++) {
        const struct mpr_history_past *past = &v->history->past[v->source[i]];
        const bool weighed =
            has_samples &&
            (!v->projection || mpr_cell_is_weighed(r, &v->projection->cell[v->source[i]],
                                                   r->options.by, v->projection->by));
        const struct mpr_history_point *now = NULL;
        uint32_t next = 0;
        for (size_t at = 0; at < v->history->count; at++) {
            if (next < past->points && past->point[next].at == at) now = &past->point[next++];
            if (!now) continue;
            sum[at].bytes += now->bytes;
            sum[at].blocks += now->blocks;
            if (weighed) add_sampled(&sum[at].sampled, &now->sampled, 1);
        }
    }
}

/* Adds the cell's samples to the sum of its heap. */
static void add_to_heap(struct mpr_history_view *v, uint32_t cell, uint8_t heap)
{
    struct mpr_history_point point[MPR_HISTORY_MAX] = { { .bytes = 0 } };
    if (!v->samples[heap]) {
        v->samples[heap] = mpr_alloc(MPR_HISTORY_MAX, sizeof *v->samples[heap]);
        /* the blocks that samples of host/python represent are in no cell */
        if (heap != MPF_HEAP_PYTHON)
            v->scaling[heap] = mpr_alloc(MPR_HISTORY_MAX, sizeof *v->scaling[heap]);
    }
    add_cell(v, cell, point);
    for (size_t i = 0; i < v->history->count; i++) {
        const struct mpr_sampled *s = &point[i].sampled;
        add_sampled(&v->samples[heap][i], s, 1);
        if (v->scaling[heap])
            mpr_estimates_add_blocks(&v->scaling[heap][i].blocks, s->represented.blocks, s->live);
    }
}

/* Sums up the samples of each heap that has estimates, and finds the cell with the blocks that they
 * represent. */
static void fill_heaps(struct mpr_history_view *v)
{
    const struct mpr_replay *r = v->history->replay;
    for (uint32_t i = 0; i < r->accounts.cells; i++) {
        const struct mpr_cell *cell = &r->accounts.cell[i];
        if (!has_estimates(r, cell->heap)) continue;
        if (mpr_replay_is_represented(r, cell)) v->remainder[cell->heap] = i + 1;
        add_to_heap(v, i, cell->heap);
    }
    for (int heap = 0; heap < MPR_HEAPS; heap++) {
        struct mpr_history_point remainder[MPR_HISTORY_MAX] = { { .bytes = 0 } };
        const struct mpr_sampled *all = v->samples[heap];
        if (!all) continue;
        v->sampled[heap] = v->history->count && all[v->history->count - 1].samples;
        if (v->scaling[heap] && v->remainder[heap]) add_cell(v, v->remainder[heap] - 1, remainder);
        for (size_t i = 0; v->scaling[heap] && i < v->history->count; i++) {
            struct mpr_history_scaling *scaling = &v->scaling[heap][i];
            scaling->sum = (struct mpr_represented_sum){
                (double)remainder[i].bytes, (double)all[i].represented.bytes,
                all[i].variance_added - all[i].variance_removed, is_sum_of_samples(r, (uint8_t)heap)
            };
            scaling->blocks.known = (double)remainder[i].blocks;
            scaling->blocks.factor = mpr_estimates_factor(&scaling->sum);
        }
    }
}

void mpr_history_view(struct mpr_history_view *v, const struct mpr_history *h,
                      const struct mpr_projection *projection)
{
    *v = (struct mpr_history_view){ .history = h, .projection = projection };
    sort_sources(v);
    fill_heaps(v);
}

void mpr_history_view_free(struct mpr_history_view *v)
{
    free(v->source);
    free(v->first);
    for (int i = 0; i < MPR_HEAPS; i++) {
        free(v->samples[i]);
        free(v->scaling[i]);
    }
}

bool mpr_history_is_estimate(const struct mpr_history_view *v, uint32_t cell)
{
    const struct mpr_replay *r = v->history->replay;
    const uint8_t heap = r->accounts.cell[cell].heap;
    if (v->remainder[heap] == cell + 1) return v->sampled[heap];
    return has_estimates(r, heap) && mpr_estimates_is_sampled(&r->estimates, cell);
}

/* Replaces the variances of some blocks by those of their estimate, which is scaled to the heap's
 * known sum (mpr_estimates_scaled_variance).  Their share of the sum is taken at the instant when
 * the sum is largest.  The extra sample of the sum has a variance that grows evenly from the first
 * instant to the last.  @cell: one of the cells with these blocks. */
static void scale_variances(const struct mpr_history_view *v, uint32_t cell,
                            const struct mpr_history_point *sum, struct mpr_history_value *value)
{
    const struct mpr_replay *r = v->history->replay;
    const uint8_t heap = r->accounts.cell[cell].heap;
    const struct mpr_sampled *all = v->samples[heap];
    const size_t count = v->history->count;
    size_t largest = 0;
    if (!all) return;
    for (size_t i = 1; i < count; i++)
        if (all[i].represented.bytes > all[largest].represented.bytes) largest = i;
    const struct mpr_history_scaling *scaling = v->scaling[heap];
    if (!scaling || scaling[largest].sum.is_theirs ||
        !mpr_estimates_are_by_chance(&scaling[largest].sum))
        return;
    const double mean = mpr_estimates_sampling(&r->estimates, heap)->mean,
                 part = (double)sum[largest].sampled.represented.bytes /
                        (double)all[largest].represented.bytes,
                 factor = scaling[largest].blocks.factor;
    for (size_t i = 0; i < count; i++) {
        const double lacking = mean * mean * (double)i / (double)count;
        const struct mpr_variance added = { value[i].variance_added, part,
                                            all[i].variance_added + lacking },
                                  removed = { value[i].variance_removed, part,
                                              all[i].variance_removed };
        value[i].variance_added = mpr_variance_value(&added) * factor * factor;
        value[i].variance_removed = mpr_variance_value(&removed) * factor * factor;
    }
}

void mpr_history_values(const struct mpr_history_view *v, const uint32_t *cell, size_t cells,
                        struct mpr_history_value *value)
{
    struct mpr_history_point sum[MPR_HISTORY_MAX] = { { .bytes = 0 } };
    const uint8_t heap = v->history->replay->accounts.cell[*cell].heap;
    const bool remainder = cells == 1 && v->remainder[heap] == *cell + 1;
    bool all_sampled = true;
    for (size_t i = 0; i < cells; i++) add_cell(v, cell[i], sum);
    for (size_t i = 0; i < v->history->count; i++) {
        struct mpr_sampled *s = &sum[i].sampled;
        const struct mpr_history_scaling *scaling = v->scaling[heap] ? &v->scaling[heap][i] : NULL;
        double blocks = s->represented.blocks;
        if (scaling) blocks = mpr_estimates_blocks(&scaling->blocks, blocks, s->live);
        if (scaling && remainder)
            blocks -= fmin(scaling->blocks.sum * scaling->blocks.factor, scaling->blocks.known);
        if (remainder) {
            /* it is as uncertain as the heap's other cells together */
            const struct mpr_sampled *all = &v->samples[heap][i];
            *s = (struct mpr_sampled){
                .represented = { mpr_signed_sub(s->represented.bytes, all->represented.bytes) },
                .variance_added = all->variance_added - s->variance_added,
                .variance_removed = all->variance_removed - s->variance_removed
            };
        }
        const double bytes = (double)s->represented.bytes * (scaling ? scaling->blocks.factor : 1);
        value[i] = (struct mpr_history_value){ add_rounded(sum[i].bytes, bytes),
                                               add_rounded(sum[i].blocks, blocks),
                                               s->variance_added,
                                               s->variance_removed,
                                               s->samples,
                                               s->live };
        all_sampled &= sum[i].blocks == s->live;
    }
    if (!remainder) scale_variances(v, *cell, sum, value);
    for (size_t i = 0; !all_sampled && i < v->history->count; i++)
        value[i].samples = value[i].live = 0;
}
