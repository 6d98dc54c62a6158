#include "gpu.h"

#include <stdlib.h>

#include "alloc.h"
#include "amount.h"
#include "gpu_book.h"
#include "gpu_peaks.h"
#include "mpf/sample.h"

static struct mpr_pool *pool_of(struct mpr_gpu *g, const struct mpf_event *e)
{
    const uint32_t newest = mpr_index_get(&g->pool_of, e->addr);
    for (uint32_t number = newest; number; number = g->pool[number - 1].older)
        if (g->pool[number - 1].heap == e->heap) return &g->pool[number - 1];
    MPR_GROW(g->pool, g->pools, g->pool_cap);
    g->pool[g->pools] = (struct mpr_pool){ .id = e->addr, .heap = e->heap, .older = newest };
    mpr_index_set(&g->pool_of, e->addr, g->pools + 1);
    return &g->pool[g->pools++];
}

/* What the device's pools hold, by kind: pool 0 is the memory of graphs. */
static void count(struct mpr_gpu *g, const struct mpr_pool *p, uint64_t change)
{
    *(p->id ? &g->pool_bytes[mpf_heap_device(p->heap)]
            : &g->graph_bytes[mpf_heap_device(p->heap)]) += change;
}

static uint32_t library_of(const struct mpr_replay *r, uint32_t site)
{
    return mpr_sites_library(&r->sites, mpr_sites_of(&r->sites, site).stack);
}

static void grow(struct mpr_replay *r, struct mpr_pool *p, uint32_t cell, uint64_t bytes)
{
    struct mpr_step *top = p->steps ? &p->step[p->steps - 1] : NULL;
    if (r->flows) mpr_flows_leave_out(r->flows, p->heap);
    if (!top || top->cell != cell) {
        MPR_GROW(p->step, p->steps, p->step_cap);
        top = &p->step[p->steps++];
        *top = (struct mpr_step){ 0, cell };
    } else mpr_books_remove(&r->books, cell, top->bytes);
    top->bytes += bytes;
    p->bytes += bytes;
    count(&r->gpu, p, bytes);
    mpr_books_add(&r->books, cell, top->bytes, r->now);
}

static void shrink(struct mpr_replay *r, struct mpr_pool *p, uint64_t bytes)
{
    while (bytes && p->steps) {
        struct mpr_step *top = &p->step[p->steps - 1];
        const uint64_t part = top->bytes < bytes ? top->bytes : bytes;
        mpr_books_remove(&r->books, top->cell, top->bytes);
        top->bytes -= part;
        p->bytes -= part;
        count(&r->gpu, p, -part);
        bytes -= part;
        if (top->bytes) mpr_books_add(&r->books, top->cell, top->bytes, r->now);
        else p->steps--;
    }
}

void mpr_pools_limit(struct mpr_replay *r, unsigned device, uint64_t limit)
{
    uint64_t excess = mpr_less(mpr_gpu_tracked(r, device), limit);
    if (r->options.pools_exact || !excess) return;
    mpr_gpu_take_pictures(r);
    for (uint32_t i = 0; i < r->gpu.pools && excess; i++) {
        struct mpr_pool *p = &r->gpu.pool[i];
        if (!p->id || mpf_heap_device(p->heap) != device) continue;
        const uint64_t part = p->bytes < excess ? p->bytes : excess;
        shrink(r, p, part);
        excess -= part;
    }
}

void mpr_pool_level(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    struct mpr_pool *p = pool_of(&r->gpu, e);
    const int64_t change = mpr_change(p->bytes, e->size);
    if (e->size > p->bytes) {
        struct mpr_gpu_block b = mpr_gpu_describe(r, t, e);
        b.site = t->gpu.pool_site;
        b.size = e->size - p->bytes;
        if (!p->library) p->library = library_of(r, b.site);
        grow(r, p, mpr_gpu_cell(r, &b), b.size);
    } else if (e->size < p->bytes) {
        mpr_gpu_take_pictures(r);
        shrink(r, p, p->bytes - e->size);
    }
    r->books.heap[e->heap].used = true;
    mpr_gpu_explain(r, mpf_heap_device(e->heap), change);
    mpr_gpu_note_peak(r, mpf_heap_device(e->heap), false);
}

void mpr_pools_free(struct mpr_gpu *g)
{
    for (uint32_t i = 0; i < g->pools; i++) free(g->pool[i].step);
    free(g->pool);
    mpr_index_free(&g->pool_of);
}
