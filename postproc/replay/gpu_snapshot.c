/* A snapshot is begun at its instant and gathered at the end: from the blocks that were made before
 * it and are still live, and from copies of those that were removed since. So an event costs the
 * same however often there is a new peak. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "bisect.h"
#include "gpu.h"

/* ---- begin */

/* Sets the libraries whose pools hold memory. A program has few pools: of a log with more than
 * POOLS the others are ignored. */
static void set_pool_users(struct mpr_device_snapshot *p, const struct mpr_gpu *g)
{
    enum { POOLS = 64 };
    for (uint32_t i = 0; i < g->pools && i < POOLS; i++) {
        const struct mpr_pool *pool = &g->pool[i];
        if (!pool->id || !pool->bytes || !pool->library) continue;
        if (mpf_heap_device(pool->heap) != p->device) continue;
        unsigned known = 0;
        while (known < p->pool_users && p->pool_user[known] != pool->library) known++;
        if (known == p->pool_users && known < MPR_POOL_USERS)
            p->pool_user[p->pool_users++] = pool->library;
    }
}

void mpr_device_snapshot_begin(struct mpr_device_snapshot *p, const struct mpr_replay *r,
                               unsigned device, uint64_t time)
{
    const struct mpr_gpu *g = &r->gpu;
    const struct mpr_gpu_device *d = &g->device[device];
    struct mpr_gpu_block *const removed = p->removed;
    const size_t removal_cap = p->removal_cap;
    *p = (struct mpr_device_snapshot){
        .valid = true,
        .open = true,
        .device = device,
        .births = g->births,
        .mappings = g->mappings,
        .time = time,
        .others = d->others,
        .file_cache = d->file_cache,
        .total = d->total,
        .tracked = mpr_gpu_tracked(r, device),
        .managed = r->accounts.heap[mpf_heap_gpu(MPF_HEAP_MANAGED, device)].bytes,
        .pools = g->pool_bytes[device],
        .graph_memory = g->graph_bytes[device],
        .removed = removed,
        .removal_cap = removal_cap
    };
    p->used = mpr_gpu_device_used(d, p->tracked);
    memcpy(p->part, d->part, sizeof p->part);
    p->parts_cut = mpr_hidden_cut(d, p->part);
    set_pool_users(p, g);
}

void mpr_device_snapshot_free(struct mpr_device_snapshot *p)
{
    free(p->driver);
    free(p->torch);
    free(p->removed);
    *p = (struct mpr_device_snapshot){ 0 };
}

/* ---- removed blocks */

MPR_COMPARE(by_birth, struct mpr_gpu_block,
            mpr_compare(a->birth, b->birth) ?: (a->addr == 0) - (b->addr == 0))

/* Memory with a handle is removed from each of its addresses, and then itself. The entry with an
 * address is kept. */
size_t mpr_device_snapshot_unique(struct mpr_gpu_block *removed, size_t count)
{
    size_t kept = 0;
    if (count) qsort(removed, count, sizeof *removed, by_birth);
    for (size_t i = 0; i < count; i++)
        if (!kept || removed[i].birth != removed[kept - 1].birth) removed[kept++] = removed[i];
    return kept;
}

static bool is_in(const struct mpr_device_snapshot *p, const struct mpr_gpu_block *b)
{
    return b->birth <= p->births && mpf_heap_is_gpu(b->heap) &&
           mpf_heap_device(b->heap) == p->device;
}

void mpr_device_snapshot_keep(struct mpr_device_snapshot *p, const struct mpr_gpu_block *b)
{
    if (!p->open || !is_in(p, b)) return;
    if (p->removals == p->removal_cap) {
        p->removals = mpr_device_snapshot_unique(p->removed, p->removals);
        if (p->removals >= p->removal_cap / 2)
            p->removed = mpr_grow(p->removed, &p->removal_cap, SIZE_MAX, sizeof *p->removed);
    }
    p->removed[p->removals++] = *b;
}

/* ---- sleep mode: an allocator that is plugged into PyTorch (vLLM's sleep mode,
 * torch_memory_saver) unmaps the memory of live blocks, keeps the addresses, and maps other memory
 * there later. PyTorch still counts these blocks; the device does not.
 *
 * Only unmapped addresses count as asleep. If the segment of a block is missing without an
 * unmapping, its allocation was not recorded. */

/* An address range without memory. */
struct gap {
    uint64_t from, to;
    uint64_t before; /* bytes of the gaps at lower addresses */
};

struct gaps {
    struct gap *at;
    size_t count, cap;
};

static void add_gap(struct gaps *g, uint64_t from, uint64_t to)
{
    if (from >= to) return;
    MPR_GROW(g->at, g->count, g->cap);
    const struct gap *last = g->count ? &g->at[g->count - 1] : NULL;
    g->at[g->count++] = (struct gap){ from, to, last ? last->before + (last->to - last->from) : 0 };
}

static uint64_t end_of(const struct mpr_gpu_block *b) { return mpr_interval_end(b->addr, b->size); }

/* Finds the address ranges that were unmapped and that no block of the driver covers. */
static void find_gaps(struct gaps *g, const struct mpr_device_snapshot *p,
                      const struct mpr_intervals *ever)
{
    const struct mpr_interval *span;
    uint64_t covered = 0; /* end of the blocks before `i` */
    size_t i = 0;
    for (struct mpr_position place = { 0, 0 }; (span = mpr_intervals_at(ever, place));
         place = mpr_intervals_next(ever, place)) {
        for (; i < p->drivers && p->driver[i].addr < span->end; i++) {
            add_gap(g, covered > span->start ? covered : span->start, p->driver[i].addr);
            if (end_of(&p->driver[i]) > covered) covered = end_of(&p->driver[i]);
        }
        add_gap(g, covered > span->start ? covered : span->start, span->end);
    }
}

/* Returns the bytes of gaps at addresses below this one. */
static uint64_t gap_bytes(const struct gaps *g, uint64_t address)
{
    const size_t low = MPR_COUNT_FIRST(i, g->count, g->at[i].from < address);
    if (!low) return 0;
    const struct gap *last = &g->at[low - 1];
    return last->before + ((address < last->to ? address : last->to) - last->from);
}

/* The snapshot's blocks are sorted. */
static void set_asleep(struct mpr_device_snapshot *p, const struct mpr_intervals *ever)
{
    struct gaps g = { 0 };
    find_gaps(&g, p, ever);
    for (size_t i = 0; i < p->torches; i++) {
        struct mpr_gpu_block *b = &p->torch[i];
        b->asleep = gap_bytes(&g, end_of(b)) - gap_bytes(&g, b->addr);
    }
    free(g.at);
}

/* Adjacent ranges are joined. */
void mpr_device_snapshot_unmapped(struct mpr_intervals *ever, uint64_t from, uint64_t to)
{
    const struct mpr_position first = mpr_intervals_after(ever, from ? from - 1 : 0);
    struct mpr_interval joined = { from, to, 0, false };
    const struct mpr_interval *span;
    size_t count = 0;
    for (struct mpr_position place = first;
         (span = mpr_intervals_at(ever, place)) && span->start <= to;
         place = mpr_intervals_next(ever, place)) {
        if (span->start < joined.start) joined.start = span->start;
        if (span->end > joined.end) joined.end = span->end;
        count++;
    }
    mpr_intervals_remove(ever, first, count);
    mpr_intervals_insert(ever, mpr_intervals_after(ever, joined.start), &joined);
}

/* ---- gathering */

static void put(struct mpr_device_snapshot *p, const struct mpr_gpu_block *b)
{
    if (!is_in(p, b)) return;
    if (mpf_heap_code(b->heap) == MPF_HEAP_TORCH) p->torch[p->torches++] = *b;
    else p->driver[p->drivers++] = *b;
}

/* Returns true if the block is among those that were removed from an address: memory with a handle
 * may live on without one. */
static bool was_removed(const struct mpr_device_snapshot *p, uint64_t birth)
{
    const size_t low = MPR_COUNT_FIRST(i, p->removals, p->removed[i].birth < birth);
    return low < p->removals && p->removed[low].birth == birth;
}

/* Returns the block that the driver is freeing on the thread, or NULL. It is in no table, and
 * counts until the driver returns. */
static const struct mpr_gpu_block *being_freed(const struct mpr_thread *t)
{
    return t && t->gpu.freeing && t->gpu.freed.addr ? &t->gpu.freed : NULL;
}

void mpr_device_snapshot_finish(struct mpr_device_snapshot *p, const struct mpr_replay *r)
{
    const struct mpr_gpu *g = &r->gpu;
    const struct mpr_gpu_block *freed;
    size_t freeing = 0;
    if (!p->open) return;
    p->open = false;
    for (uint32_t i = 0; i < r->threads.count; i++)
        freeing += being_freed(r->threads.at[i]) != NULL;
    p->driver = mpr_alloc(g->driver.live + g->objects + freeing + p->removals, sizeof *p->driver);
    p->torch = mpr_alloc(g->torch.live + p->removals, sizeof *p->torch);
    p->removals = mpr_device_snapshot_unique(p->removed, p->removals);
    for (size_t i = 0; i < p->removals; i++) put(p, &p->removed[i]);
    for (size_t i = 0; i < g->driver.live; i++) put(p, &g->driver.at[i]);
    for (size_t i = 0; i < g->torch.live; i++) put(p, &g->torch.at[i]);
    for (uint32_t i = 0; i < g->objects; i++) {
        const struct mpr_handle_object *o = &g->object[i];
        if (o->live && !o->imported && !was_removed(p, o->block.birth)) put(p, &o->block);
    }
    for (uint32_t i = 0; i < r->threads.count; i++)
        if ((freed = being_freed(r->threads.at[i]))) put(p, freed);
    qsort(p->driver, p->drivers, sizeof *p->driver, mpr_gpu_block_by_address);
    qsort(p->torch, p->torches, sizeof *p->torch, mpr_gpu_block_by_address);
    set_asleep(p, &g->unmapped);
    free(p->removed);
    p->removed = NULL;
}

void mpr_device_snapshot_take(struct mpr_device_snapshot *p, const struct mpr_replay *r,
                              unsigned device, uint64_t time)
{
    mpr_device_snapshot_begin(p, r, device, time);
    mpr_device_snapshot_finish(p, r);
}
