/* A picture is begun at its instant and gathered at the end: from what is live still and was made
 * before it, and from copies of what has gone since.  So an event costs the same however often a
 * peak is a new one. */
#include "picture.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "asleep.h"
#include "gpu.h"
#include "mpf/sample.h"

static int by_address(const void *left, const void *right)
{
    const struct mpr_gpu_block *a = left, *b = right;
    if (a->addr != b->addr) return a->addr < b->addr ? -1 : 1;
    return a->birth < b->birth ? -1 : a->birth > b->birth;
}

static bool is_in(const struct mpr_picture *p, const struct mpr_gpu_block *b)
{
    return b->birth <= p->births && mpf_heap_is_gpu(b->heap) &&
           mpf_heap_device(b->heap) == p->device;
}

static bool is_torch(const struct mpr_gpu_block *b)
{
    return mpf_heap_code(b->heap) == MPF_HEAP_TORCH;
}

static void put_user(struct mpr_picture *p, uint32_t library)
{
    for (unsigned i = 0; i < p->pool_users; i++)
        if (p->pool_user[i] == library) return;
    if (p->pool_users < MPR_POOL_USERS) p->pool_user[p->pool_users++] = library;
}

/* A program has few pools; of a log with many the others have no users. */
static void put_users(struct mpr_picture *p, const struct mpr_gpu *g)
{
    enum { POOLS = 64 };
    for (uint32_t i = 0; i < g->pools && i < POOLS; i++) {
        const struct mpr_pool *pool = &g->pool[i];
        if (pool->id && pool->bytes && pool->library && mpf_heap_device(pool->heap) == p->device)
            put_user(p, pool->library);
    }
}

void mpr_picture_begin(struct mpr_picture *p, const struct mpr_replay *r, unsigned device,
                       uint64_t time)
{
    const struct mpr_gpu *g = &r->gpu;
    const struct mpr_gpu_device *d = &g->device[device];
    struct mpr_gpu_block *const gone = p->gone;
    const size_t gone_cap = p->gone_cap;
    *p = (struct mpr_picture){ .valid = true,
                               .open = true,
                               .device = device,
                               .births = g->births,
                               .mappings = g->mappings,
                               .time = time,
                               .others = d->others,
                               .file_cache = d->file_cache,
                               .total = d->total,
                               .gone = gone,
                               .gone_cap = gone_cap };
    p->tracked = r->books.heap[mpf_heap_gpu(MPF_HEAP_DEVICE, device)].bytes;
    p->used = mpr_gpu_device_used(d, p->tracked);
    for (int i = 0; i < MPR_PARTS; i++) p->part[i] = d->part[i];
    p->parts_cut = mpr_hidden_cut(d, p->part);
    p->managed = r->books.heap[mpf_heap_gpu(MPF_HEAP_MANAGED, device)].bytes;
    p->pools = g->pool_bytes[device];
    p->graph_memory = g->graph_bytes[device];
    put_users(p, g);
}

/* ---- what goes */

static int by_birth(const void *left, const void *right)
{
    const struct mpr_gpu_block *a = left, *b = right;
    if (a->birth != b->birth) return a->birth < b->birth ? -1 : 1;
    return (a->addr == 0) - (b->addr == 0);
}

/* Memory with a handle goes from each of its addresses, and then itself: it counts once. */
size_t mpr_picture_once(struct mpr_gpu_block *gone, size_t gones)
{
    size_t kept = 0;
    if (gones) qsort(gone, gones, sizeof *gone, by_birth);
    for (size_t i = 0; i < gones; i++)
        if (!kept || gone[i].birth != gone[kept - 1].birth) gone[kept++] = gone[i];
    return kept;
}

static void make_room(struct mpr_picture *p)
{
    if (p->gones < p->gone_cap) return;
    p->gones = mpr_picture_once(p->gone, p->gones);
    if (p->gones >= p->gone_cap / 2)
        p->gone = mpr_grow(p->gone, &p->gone_cap, SIZE_MAX, sizeof *p->gone);
}

void mpr_picture_gone(struct mpr_picture *p, const struct mpr_gpu_block *b)
{
    if (!p->open || !is_in(p, b)) return;
    make_room(p);
    p->gone[p->gones++] = *b;
}

/* ---- gathering */

static void put(struct mpr_picture *p, const struct mpr_gpu_block *b)
{
    if (!is_in(p, b)) return;
    if (is_torch(b)) p->torch[p->torches++] = *b;
    else p->driver[p->drivers++] = *b;
}

static void put_table(struct mpr_picture *p, const struct mpr_gpu_blocks *table)
{
    for (size_t i = 0; i < table->live; i++) put(p, &table->at[i]);
}

/* Memory with a handle may have gone from its address and live on. */
static bool is_gone(const struct mpr_picture *p, uint64_t birth)
{
    size_t low = 0, high = p->gones;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (p->gone[middle].birth < birth) low = middle + 1;
        else high = middle;
    }
    return low < p->gones && p->gone[low].birth == birth;
}

static void put_objects(struct mpr_picture *p, const struct mpr_gpu *g)
{
    for (uint32_t i = 0; i < g->objects; i++) {
        const struct mpr_object *o = &g->object[i];
        if (o->live && !o->imported && !is_gone(p, o->block.birth)) put(p, &o->block);
    }
}

/* What the driver is freeing is out of the table, for its address may be handed out, and counts
 * until the driver returns. */
static const struct mpr_gpu_block *freeing_by(const struct mpr_thread *t)
{
    return t && t->gpu.freeing && t->gpu.freed.addr ? &t->gpu.freed : NULL;
}

static size_t freeing(const struct mpr_threads *threads)
{
    size_t count = 0;
    for (uint32_t i = 0; i < threads->count; i++) count += freeing_by(threads->at[i]) != NULL;
    return count;
}

static void put_freeing(struct mpr_picture *p, const struct mpr_threads *threads)
{
    for (uint32_t i = 0; i < threads->count; i++) {
        const struct mpr_gpu_block *block = freeing_by(threads->at[i]);
        if (block) put(p, block);
    }
}

void mpr_picture_end(struct mpr_picture *p, const struct mpr_replay *r)
{
    const struct mpr_gpu *g = &r->gpu;
    if (!p->open) return;
    p->open = false;
    p->driver =
        mpr_alloc(g->driver.live + g->objects + freeing(&r->threads) + p->gones, sizeof *p->driver);
    p->torch = mpr_alloc(g->torch.live + p->gones, sizeof *p->torch);
    p->gones = mpr_picture_once(p->gone, p->gones);
    for (size_t i = 0; i < p->gones; i++) put(p, &p->gone[i]);
    put_table(p, &g->driver);
    put_table(p, &g->torch);
    put_objects(p, g);
    put_freeing(p, &r->threads);
    qsort(p->driver, p->drivers, sizeof *p->driver, by_address);
    qsort(p->torch, p->torches, sizeof *p->torch, by_address);
    mpr_asleep_measure(p, &g->unmapped);
    free(p->gone);
    p->gone = NULL;
}

void mpr_picture_take(struct mpr_picture *p, const struct mpr_replay *r, unsigned device,
                      uint64_t time)
{
    mpr_picture_begin(p, r, device, time);
    mpr_picture_end(p, r);
}

void mpr_picture_free(struct mpr_picture *p)
{
    free(p->driver);
    free(p->torch);
    free(p->gone);
    *p = (struct mpr_picture){ 0 };
}
