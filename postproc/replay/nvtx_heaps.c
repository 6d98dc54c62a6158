/* Invariants: each live region is in the list of its heap; the live regions are the blocks of
 * nvtx/regions in the accounts, and the blocks of the accounts by name.
 *
 * If a program uses NVTX wrongly, the end of an unknown region or heap counts as the free of an
 * unknown block, and one that is registered twice replaces the first. */
#include "replay.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "alloc_context.h"
#include "block_observers.h"
#include "mpf/sample.h"

void mpr_nvtx_free(struct mpr_nvtx *n)
{
    if (n->accounts) mpr_accounts_free(n->accounts);
    free(n->accounts);
    mpr_index_free(&n->row_number);
    free(n->heap);
    mpr_index_free(&n->heap_number);
    free(n->region);
    mpr_index_free(&n->region_number);
}

static uint64_t limit_size(uint64_t size) { return size < MPF_SIZE_MAX ? size : MPF_SIZE_MAX; }

/* Counts the end of an unknown region or heap. */
static void count_unknown(struct mpr_replay *r)
{
    struct mpr_heap *heap = &r->accounts.heap[MPF_HEAP_NVTX];
    heap->used = true;
    if (r->options.has_parent) heap->inherited++;
    else heap->unmatched++;
}

/* ---- rows */

/* Returns the number of the row of a name, from 1.  The last row is for all names that have none.
 */
static uint32_t row_of(struct mpr_nvtx *n, uint32_t name)
{
    uint32_t number = mpr_index_get(&n->row_number, name);
    if (number) return number;
    if (n->rows >= MPR_NVTX_ROWS - 1) name = MPR_NVTX_OTHER;
    if ((number = mpr_index_get(&n->row_number, name))) return number;
    n->row[n->rows].name = name;
    mpr_index_set(&n->row_number, name, ++n->rows);
    return n->rows;
}

/* Returns the name with this number, or MPR_NVTX_UNNAMED if the number is not possible in a log. */
static uint32_t name_of(const struct mpr_replay *r, uint64_t id)
{
    const bool is_none = id <= MPR_NVTX_UNREGISTERED || id >= MPR_FRAME_NAME;
    return is_none ? MPR_NVTX_UNNAMED : mpr_ranges_name(&r->ranges, (uint32_t)id);
}

/* ---- heaps by handle */

static uint32_t new_heap(struct mpr_nvtx *n, uint64_t handle, uint32_t row)
{
    const uint32_t place = MPR_PLACE(n->heap, n->heaps, n->heap_cap, n->heap_free, next);
    mpr_index_set(&n->heap_number, handle, place);
    n->heap[place - 1] = (struct mpr_nvtx_heap){ .handle = handle, .row = row };
    return place - 1;
}

/* ---- regions by address */

static struct mpr_nvtx_region *region_at(const struct mpr_nvtx *n, uint64_t addr)
{
    const uint32_t number = mpr_index_get(&n->region_number, addr);
    return number ? &n->region[number - 1] : NULL;
}

/* Removes a region from the accounts and from its heap. */
static void remove_region(struct mpr_replay *r, struct mpr_nvtx_region *region)
{
    struct mpr_nvtx *n = &r->nvtx;
    const uint32_t newer = region->newer, older = region->older;
    n->accounts->heap[n->heap[region->heap].row].frees++;
    mpr_accounts_remove(n->accounts, region->row_cell, region->size);
    if (mpr_blocks_are_observed(r))
        mpr_observe_block_free(r, mpr_block_key(region->addr, MPF_HEAP_NVTX), region->size);
    if (region->weighed)
        mpr_estimates_change(&r->estimates, &r->accounts, region->cell, region->size, -1);
    mpr_accounts_remove(&r->accounts, region->cell, region->size);
    if (newer) n->region[newer - 1].older = older;
    else n->heap[region->heap].first = older;
    if (older) n->region[older - 1].newer = newer;
    mpr_index_set(&n->region_number, region->addr, 0);
    region->newer = n->region_free;
    n->region_free = (uint32_t)(region - n->region) + 1;
}

/* Adds a new region to the accounts. */
static void count_region(struct mpr_replay *r, struct mpr_nvtx_region *region, uint32_t name)
{
    struct mpr_nvtx *n = &r->nvtx;
    const uint8_t row = (uint8_t)n->heap[region->heap].row;
    if (!n->accounts) {
        n->accounts = mpr_alloc(1, sizeof *n->accounts);
        mpr_accounts_init(n->accounts);
    }
    region->row_cell = mpr_accounts_cell(n->accounts, name, 0, row);
    region->epoch = n->accounts->heap[row].epoch;
    n->accounts->heap[row].allocations++;
    n->accounts->cell[region->row_cell].allocations++;
    mpr_accounts_add(n->accounts, region->row_cell, region->size, r->now);
    r->accounts.heap[MPF_HEAP_NVTX].allocations++;
    r->accounts.cell[region->cell].allocations++;
    if (region->weighed)
        mpr_estimates_change(&r->estimates, &r->accounts, region->cell, region->size, 1);
    mpr_accounts_add(&r->accounts, region->cell, region->size, r->now);
    if (mpr_blocks_are_observed(r))
        mpr_observe_block(r, MPF_HEAP_NVTX, region->addr, region->size, region->cell);
}

/* ---- events of regions */

/* Adds a region to the heap at place @heap.  A region outside any range without a Python stack gets
 * the name of its heap.  If stacks are sampled it has no name, because samples represent it. */
static void add_region(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e,
                       uint32_t heap, uint32_t name)
{
    const uint32_t heap_name = r->nvtx.row[r->nvtx.heap[heap].row - 1].name;
    const bool is_named = !t->at.python && r->options.sample_mean == 0;
    size_t bytes;
    const char *text = is_named ? mpr_texts_get(&r->ranges.names, heap_name, &bytes) : NULL;
    const struct mpr_site at = { t->at.stack, text ? mpr_sites_named(&r->sites, &r->ranges, text)
                                                   : t->at.python };
    const struct mpr_alloc_context context = { .size = limit_size(e->size),
                                               .node =
                                                   mpr_alloc_context_path(r, t->node, t->at.python),
                                               .thread = t->number,
                                               .site = mpr_sites_site(&r->sites, at) };
    struct mpr_nvtx *n = &r->nvtx;
    const uint32_t older = n->heap[heap].first;
    const uint32_t place = MPR_PLACE(n->region, n->regions, n->region_cap, n->region_free, newer);
    mpr_index_set(&n->region_number, e->addr, place);
    if (older) n->region[older - 1].newer = place;
    n->heap[heap].first = place;
    n->region[place - 1] =
        (struct mpr_nvtx_region){ .addr = e->addr,
                                  .heap = heap,
                                  .older = older,
                                  .size = context.size,
                                  .weighed = mpr_thread_has_sampled_stack(r, t),
                                  .cell = mpr_alloc_context_cell(r, &context, MPF_HEAP_NVTX) };
    count_region(r, &n->region[place - 1], name);
}

static void on_register(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    struct mpr_nvtx_region *known = region_at(&r->nvtx, e->addr);
    if (!e->addr) return;
    if (known) { /* its end was not recorded */
        r->actor = MPR_NOBODY;
        remove_region(r, known);
        r->actor = t->number;
        r->accounts.heap[MPF_HEAP_NVTX].missed++;
    }
    const uint64_t handle = t->nvtx_heap;
    uint32_t heap = mpr_index_get(&r->nvtx.heap_number, handle);
    if (heap) heap--;
    else { /* its registration is not in the log: it begins with its first region */
        const uint32_t name = handle ? MPR_NVTX_UNREGISTERED : MPR_NVTX_PROCESS;
        heap = new_heap(&r->nvtx, handle, row_of(&r->nvtx, name));
    }
    add_region(r, t, e, heap, MPR_NVTX_UNNAMED);
}

/* Moves the region from its cell to that of its name, as if it had had the name from the start. */
static void name_region(struct mpr_replay *r, const struct mpf_event *e,
                        struct mpr_nvtx_region *region)
{
    struct mpr_accounts *accounts = r->nvtx.accounts;
    const uint8_t row = (uint8_t)r->nvtx.heap[region->heap].row;
    const uint32_t cell = mpr_accounts_cell(accounts, name_of(r, e->size), 0, row);
    if (cell == region->row_cell) return;
    struct mpr_cell *from = &accounts->cell[region->row_cell], *to = &accounts->cell[cell];
    const struct mpr_heap *heap = &accounts->heap[row];
    region->row_cell = cell;
    const bool at_peak = heap->epoch != region->epoch;
    mpr_accounts_save(from, heap);
    mpr_accounts_save(to, heap);
    from->bytes -= region->size;
    from->blocks--;
    from->allocations--;
    to->bytes += region->size;
    to->blocks++;
    to->allocations++;
    if (to->bytes > to->own_peak) to->own_peak = to->bytes;
    if (!at_peak) return;
    from->saved_bytes -= region->size;
    from->saved_blocks--;
    to->saved_bytes += region->size;
    to->saved_blocks++;
}

/* Applies the end, the new size or the new name of a region.  With a new size the region keeps its
 * heap and its name. */
static void on_region(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    struct mpr_nvtx_region *region = region_at(&r->nvtx, e->addr);
    if (!region) {
        count_unknown(r);
        return;
    }
    if (e->op == MPF_OP_NVTX_NAME) {
        name_region(r, e, region);
        return;
    }
    const uint32_t heap = region->heap,
                   name = (uint32_t)r->nvtx.accounts->cell[region->row_cell].key;
    r->accounts.heap[MPF_HEAP_NVTX].frees++;
    remove_region(r, region);
    if (e->op == MPF_OP_MOVE_END) add_region(r, t, e, heap, name);
}

/* ---- events of heaps */

static void end_regions(struct mpr_replay *r, struct mpr_nvtx_heap *heap)
{
    for (; heap->first; r->accounts.heap[MPF_HEAP_NVTX].frees++)
        remove_region(r, &r->nvtx.region[heap->first - 1]);
}

static void end_heap(struct mpr_replay *r, uint32_t place)
{
    struct mpr_nvtx_heap *heap = &r->nvtx.heap[place];
    end_regions(r, heap);
    r->nvtx.row[heap->row - 1].bytes -= heap->bytes;
    mpr_index_set(&r->nvtx.heap_number, heap->handle, 0);
    heap->next = r->nvtx.heap_free;
    r->nvtx.heap_free = place + 1;
}

static void on_heap(struct mpr_replay *r, const struct mpf_event *e)
{
    struct mpr_nvtx *n = &r->nvtx;
    uint64_t v[MPF_NVTX_COUNT] = { 0 };
    if (e->size) memcpy(v, e->data, e->size < sizeof v ? (size_t)e->size : sizeof v);
    const uint32_t known = mpr_index_get(&n->heap_number, e->addr);
    if (!e->addr) return;
    if (known) end_heap(r, known - 1);
    const uint32_t row = row_of(n, name_of(r, v[MPF_NVTX_NAME]));
    const uint32_t place = new_heap(n, e->addr, row); /* may move n->heap */
    struct mpr_nvtx_heap *heap = &n->heap[place];
    struct mpr_nvtx_row *sum = &n->row[row - 1];
    heap->bytes = limit_size(v[MPF_NVTX_BYTES]);
    sum->heaps++;
    sum->bytes += heap->bytes;
    if (sum->bytes > sum->most_bytes) sum->most_bytes = sum->bytes;
    r->accounts.heap[MPF_HEAP_NVTX].used = true;
}

/* If the event's size is 0 the heap has ended, otherwise it is only reset. */
static void on_heap_end(struct mpr_replay *r, const struct mpf_event *e)
{
    const uint32_t number = mpr_index_get(&r->nvtx.heap_number, e->addr);
    if (!number) {
        if (e->addr) count_unknown(r);
        return;
    }
    if (!e->size) {
        end_heap(r, number - 1);
        return;
    }
    struct mpr_nvtx_heap *heap = &r->nvtx.heap[number - 1];
    end_regions(r, heap);
    r->nvtx.row[heap->row - 1].resets++;
}

void mpr_nvtx_event(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    switch (e->op) {
    case MPF_OP_ALLOC: on_register(r, t, e); break;
    case MPF_OP_FREE:
    case MPF_OP_MOVE_END:
    case MPF_OP_NVTX_NAME: on_region(r, t, e); break;
    case MPF_OP_NVTX_HEAP: on_heap(r, e); break;
    case MPF_OP_NVTX_HEAP_END: on_heap_end(r, e); break;
    case MPF_OP_NVTX_IN: t->nvtx_heap = e->addr; break;
    default: break;
    }
    t->at = (struct mpr_site){ 0, 0 };
}
