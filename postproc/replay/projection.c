/* Invariant: the cells of a projection are in the order in which a replay by that grouping would
 * have made them, because each is as old as the oldest cell that is summed up in it. */
#include "projection.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "alloc_context.h"
#include "amount.h"
#include "backward.h"
#include "replay.h"

/* ---- snapshots */

void mpr_snapshots_free(struct mpr_snapshots *s)
{
    for (uint32_t i = 0; i < s->count; i++) free(s->at[i].cell);
}

bool mpr_snapshots_take(struct mpr_snapshots *s, const struct mpr_replay *r)
{
    if (s->taken == s->count) return false;
    struct mpr_snapshot *at = &s->at[s->taken++];
    at->cells = r->accounts.cells;
    at->cell = mpr_alloc(at->cells, sizeof *at->cell);
    for (uint32_t i = 0; i < at->cells; i++) {
        const struct mpr_cell *cell = &r->accounts.cell[i];
        struct mpr_snapshot_cell *to = &at->cell[i];
        if (cell->heap != s->heap) continue;
        const struct mpr_cell_values peak = mpr_accounts_at_peak(&r->accounts, cell);
        to->bytes = peak.bytes;
        to->blocks = peak.blocks;
        to->more = mpr_estimates_at_peak(&r->estimates, &r->accounts, i);
    }
    return s->taken < s->count;
}

/* ---- cells of two groupings */

static uint32_t node_of(const struct mpr_cell *cell, enum mpr_group by)
{
    return by == MPR_GROUP_ALL ? mpr_composite_key_unpack(cell->key).node : (uint32_t)cell->key;
}

/* Returns the key of the cell's blocks by the grouping in r->options.by. */
static uint64_t key_of(struct mpr_replay *r, const struct mpr_cell *cell, enum mpr_group before)
{
    struct mpr_alloc_context context = { .node = node_of(cell, before), .site = cell->site };
    if (before == MPR_GROUP_ALL) context.thread = mpr_composite_key_unpack(cell->key).thread;
    const struct mpr_site site = mpr_sites_of(&r->sites, cell->site);
    const bool also = r->options.backward_also && mpr_backward_is(&r->ranges, site.python);
    if (also && r->options.by != MPR_GROUP_PYTHON)
        context.site = mpr_sites_site(&r->sites, (struct mpr_site){ .stack = site.stack });
    return mpr_alloc_context_key(r, &context);
}

bool mpr_cell_is_weighed(const struct mpr_replay *r, const struct mpr_cell *cell, enum mpr_group by,
                         enum mpr_group before)
{
    if (by == before || cell->heap == MPF_HEAP_PYTHON) return true;
    if (cell->heap == MPF_HEAP_HOST && mpr_replay_samples_host(r)) return true;
    if (mpf_heap_is_gpu(cell->heap)) return by == MPR_GROUP_PYTHON;
    return by != MPR_GROUP_AUTO || !node_of(cell, before);
}

/* ---- own peaks */

void mpr_own_peaks_begin(struct mpr_own_peaks *own, struct mpr_replay *r, enum mpr_group by)
{
    *own = (struct mpr_own_peaks){ .by = by, .replay = r, .next = r->accounts.own_peaks };
    r->accounts.own_peaks = own;
}

void mpr_own_peaks_free(struct mpr_own_peaks *own)
{
    free(own->at);
    free(own->of_cell);
    mpr_index_free(&own->number);
}

/* Returns the index + 1 of the own peak for the blocks of a cell. */
static uint32_t find_own(struct mpr_own_peaks *own, const struct mpr_cell *cell)
{
    struct mpr_replay *r = own->replay;
    const enum mpr_group before = r->options.by;
    r->options.by = own->by;
    const uint64_t key = key_of(r, cell, before), hash = mpr_hash(key) + cell->heap;
    r->options.by = before;
    MPR_INDEX_EACH(number, &own->number, hash)
        if (own->at[number - 1].key == key && own->at[number - 1].heap == cell->heap) return number;
    *MPR_ADD(own->at, own->count, own->cap) =
        (struct mpr_own_peak){ .key = key, .heap = cell->heap };
    mpr_index_add(&own->number, hash, own->count);
    return own->count;
}

static inline struct mpr_own_peak *own_of(struct mpr_own_peaks *own, uint32_t cell)
{
    MPR_REACH(own->of_cell, cell, own->cells);
    uint32_t *number = &own->of_cell[cell];
    if (!*number) *number = find_own(own, &own->replay->accounts.cell[cell]);
    return &own->at[*number - 1];
}

void mpr_own_peaks_change(struct mpr_own_peaks *own, uint32_t cell, uint64_t size)
{
    for (; own; own = own->next) {
        struct mpr_own_peak *of = own_of(own, cell);
        of->bytes += size;
        if (of->bytes > of->peak) of->peak = of->bytes;
    }
}

void mpr_own_peaks_estimate(struct mpr_own_peaks *own, uint32_t cell, uint64_t size, int64_t more)
{
    for (; own; own = own->next) {
        const struct mpr_replay *r = own->replay;
        struct mpr_own_peak *of = own_of(own, cell);
        if (!mpr_cell_is_weighed(r, &r->accounts.cell[cell], own->by, r->options.by)) continue;
        of->more = mpr_signed_add(of->more, more);
        const uint64_t bytes = of->bytes + size + (uint64_t)of->more;
        if (size && bytes > of->estimated_peak) of->estimated_peak = bytes;
    }
}

/* Sets own peaks of the projection if they were observed.  Cells by LIBRARY or RANGE have the same
 * blocks as by AUTO, because these groupings are chosen only if AUTO groups all blocks that way. */
static void take_own_peaks(const struct mpr_projection *p, struct mpr_replay *r)
{
    const enum mpr_group by = r->options.by;
    const bool as_auto = by == MPR_GROUP_LIBRARY || by == MPR_GROUP_RANGE;
    struct mpr_own_peaks *own = r->accounts.own_peaks;
    while (own && own->by != by && !(as_auto && own->by == MPR_GROUP_AUTO)) own = own->next;
    for (uint32_t i = 0; own && i < p->cells && i < own->cells; i++) {
        if (!own->of_cell[i]) continue;
        const struct mpr_own_peak *of = &own->at[own->of_cell[i] - 1];
        r->accounts.cell[p->to[i]].own_peak = of->peak;
        r->estimates.cell[p->to[i]].own_peak = of->estimated_peak;
    }
}

/* ---- projection */

static void add_cell(struct mpr_cell *to, const struct mpr_cell *from,
                     const struct mpr_accounts *accounts, const struct mpr_snapshot_cell *at)
{
    const struct mpr_cell_values peak = mpr_accounts_at_peak(accounts, from);
    to->epoch = accounts->heap[from->heap].epoch;
    to->bytes += from->bytes;
    to->blocks += from->blocks;
    to->saved_bytes += at ? at->bytes : peak.bytes;
    to->saved_blocks += at ? at->blocks : peak.blocks;
    to->inherited += from->inherited;
    to->saved_inherited += peak.inherited;
    to->allocations += from->allocations;
    if (from->own_peak > to->own_peak) to->own_peak = from->own_peak;
}

static void add_estimate(struct mpr_estimate *to, const struct mpr_estimate *from,
                         const struct mpr_heap *heap, const struct mpr_snapshot_cell *at)
{
    struct mpr_estimate_state at_peak = mpr_estimate_now(from);
    if (at) at_peak = at->more;
    else if (from->epoch == heap->epoch) at_peak = from->saved;
    to->epoch = heap->epoch;
    to->now.bytes += from->now.bytes;
    to->now.blocks += from->now.blocks;
    to->saved.bytes += at_peak.bytes;
    to->saved.blocks += at_peak.blocks;
    to->saved.variance += at_peak.variance;
    to->saved.samples += at_peak.samples;
    to->allocations += from->allocations;
    to->variance_added += from->variance_added;
    to->variance_removed += from->variance_removed;
    to->samples += from->samples;
    to->live += from->live;
    if (from->own_peak > to->own_peak) to->own_peak = from->own_peak;
}

/* Sums up the replay's cells.  A cell that is younger than the snapshot is empty in it. */
static void add_all(const struct mpr_projection *p, struct mpr_replay *r,
                    const struct mpr_snapshot *at, uint8_t heap)
{
    static const struct mpr_snapshot_cell nothing;
    r->estimates.cells = r->accounts.cells;
    r->estimates.cell = mpr_alloc(r->accounts.cells, sizeof *r->estimates.cell);
    for (uint32_t i = 0; i < p->cells; i++) {
        const struct mpr_cell *from = &p->cell[i];
        const struct mpr_heap *of = &r->accounts.heap[from->heap];
        const struct mpr_snapshot_cell *in_snapshot = !at || from->heap != heap ? NULL
                                                      : i < at->cells           ? &at->cell[i]
                                                                                : &nothing;
        add_cell(&r->accounts.cell[p->to[i]], from, &r->accounts, in_snapshot);
        if (i < p->estimates && mpr_cell_is_weighed(r, from, r->options.by, p->by))
            add_estimate(&r->estimates.cell[p->to[i]], &p->estimate[i], of, in_snapshot);
    }
}

void mpr_projection_begin(struct mpr_projection *p, struct mpr_replay *r, enum mpr_group by,
                          const struct mpr_snapshot *at)
{
    *p = (struct mpr_projection){ .by = r->options.by,
                                  .number = r->accounts.number,
                                  .cell = r->accounts.cell,
                                  .cell_cap = r->accounts.cell_cap,
                                  .estimate = r->estimates.cell,
                                  .cells = r->accounts.cells,
                                  .estimates = r->estimates.cells,
                                  .totals_cell = r->totals.cell };
    if (by == p->by && !at) return;
    p->to = mpr_alloc(p->cells, sizeof *p->to);
    r->options.by = by;
    r->accounts.number = (struct mpr_index){ 0 };
    r->accounts.cell = NULL;
    r->accounts.cells = r->accounts.cell_cap = 0;
    for (uint32_t i = 0; i < p->cells; i++) {
        const uint64_t key = by == p->by ? p->cell[i].key : key_of(r, &p->cell[i], p->by);
        p->to[i] = mpr_accounts_cell(&r->accounts, key, 0, p->cell[i].heap);
    }
    if (r->totals.known) r->totals.cell = p->to[p->totals_cell];
    add_all(p, r, at, r->snapshots ? r->snapshots->heap : 0);
    take_own_peaks(p, r);
    mpr_samples_project(&r->samples, p->to);
}

void mpr_projection_end(struct mpr_projection *p, struct mpr_replay *r)
{
    if (!p->to) return;
    free(p->to);
    mpr_accounts_free(&r->accounts);
    mpr_estimates_free(&r->estimates);
    r->options.by = p->by;
    r->accounts.number = p->number;
    r->accounts.cell = p->cell;
    r->accounts.cell_cap = p->cell_cap;
    r->accounts.cells = p->cells;
    r->estimates.cell = p->estimate;
    r->estimates.cells = p->estimates;
    r->totals.cell = p->totals_cell;
    mpr_samples_project(&r->samples, NULL);
}
