#include <stdlib.h>

#include "mpf/sample.h"
#include "replay.h"

static int by_address(const void *left, const void *right)
{
    const struct mpr_gpu_block *a = left, *b = right;
    return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static bool on_device(const struct mpr_gpu_block *b, unsigned device)
{
    return mpf_heap_is_gpu(b->heap) && mpf_heap_device(b->heap) == device;
}

/* The table's blocks of the device, by address. */
static size_t copy_blocks(const struct mpr_gpu_blocks *table, unsigned device, struct mpr_gpu_block *out)
{
    size_t n = 0;
    for (size_t i = 0; i <= table->mask; i++)
        if (table->at[i].addr && on_device(&table->at[i], device)) out[n++] = table->at[i];
    return n;
}

static size_t copy_objects(const struct mpr_gpu *g, unsigned device, struct mpr_gpu_block *out)
{
    size_t n = 0;
    for (uint32_t i = 0; i < g->objects; i++) {
        const struct mpr_object *o = &g->object[i];
        if (o->live && !o->imported && on_device(&o->block, device)) out[n++] = o->block;
    }
    return n;
}

/* What the driver is freeing is out of the table, for its address may be handed out, and counts until the driver returns. */
static size_t copy_freeing(const struct mpr_threads *threads, unsigned device, struct mpr_gpu_block *out)
{
    size_t n = 0;
    for (uint32_t i = 0; i < threads->count; i++) {
        const struct mpr_thread *t = threads->at[i];
        if (t && t->gpu.freeing && t->gpu.freed.addr && on_device(&t->gpu.freed, device)) out[n++] = t->gpu.freed;
    }
    return n;
}

static void add_levels(const struct mpr_gpu *g, unsigned device, struct mpr_picture *p)
{
    for (uint32_t i = 0; i < g->pools; i++) {
        if (mpf_heap_device(g->pool[i].heap) != device) continue;
        if (g->pool[i].id) p->pools += g->pool[i].bytes;
        else p->graph_memory += g->pool[i].bytes;
    }
}

void mpr_picture_take(struct mpr_picture *p, const struct mpr_replay *r, unsigned device, uint64_t time)
{
    const struct mpr_gpu *g = &r->gpu;
    const struct mpr_gpu_device *d = &g->device[device];
    *p = (struct mpr_picture){ .time = time, .others = d->others, .total = d->total };
    p->driver = malloc((g->driver.live + g->objects + r->threads.count + 1) * sizeof *p->driver);
    p->torch = malloc((g->torch.live + 1) * sizeof *p->torch);
    p->valid = p->driver && p->torch;
    if (!p->valid) return;
    p->tracked = r->books.heap[mpf_heap_gpu(MPF_HEAP_DEVICE, device)].bytes;
    p->used = d->used == MPF_UNKNOWN ? MPF_UNKNOWN : d->used + p->tracked - d->tracked_then;
    for (int i = 0; i < MPR_PARTS; i++) p->part[i] = d->part[i];
    add_levels(g, device, p);
    p->drivers = copy_blocks(&g->driver, device, p->driver);
    p->drivers += copy_objects(g, device, p->driver + p->drivers);
    p->drivers += copy_freeing(&r->threads, device, p->driver + p->drivers);
    p->torches = copy_blocks(&g->torch, device, p->torch);
    qsort(p->driver, p->drivers, sizeof *p->driver, by_address);
    qsort(p->torch, p->torches, sizeof *p->torch, by_address);
}

void mpr_picture_free(struct mpr_picture *p)
{
    free(p->driver);
    free(p->torch);
    *p = (struct mpr_picture){ 0 };
}
