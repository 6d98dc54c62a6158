/* Invariant: an object is found by its handle while it has references; then its memory lives by its mappings alone, and the
 * driver may give the handle to other memory. */
#include "gpu_handles.h"

#include <string.h>

#include "gpu_lent.h"
#include "gpu_peaks.h"
#include "replay.h"

static struct mpr_object *find(struct mpr_gpu *g, uint64_t handle)
{
    for (uint32_t i = g->objects; i-- > 0; )
        if (g->object[i].refs && g->object[i].handle == handle) return &g->object[i];
    return NULL;
}

/* Its place can be used again. */
static void retire(struct mpr_gpu *g, struct mpr_object *o)
{
    if (o->live || o->owed) return;
    o->next_free = g->object_free;
    g->object_free = (uint32_t)(o - g->object) + 1;
}

static void release_if_unused(struct mpr_replay *r, struct mpr_object *o)
{
    if (o->refs || o->mappings || !o->live) return;
    o->live = false;
    if (!o->imported) {
        r->books.heap[o->block.heap].frees++;
        mpr_gpu_books_remove(r, &o->block);
        if (mpf_heap_is_gpu(o->block.heap)) mpr_gpu_explain(r, mpf_heap_device(o->block.heap), -(int64_t)o->block.size);
    }
    retire(&r->gpu, o);
}

static struct mpr_object *new_object(struct mpr_replay *r)
{
    struct mpr_gpu *g = &r->gpu;
    if (g->object_free) {
        struct mpr_object *o = &g->object[g->object_free - 1];
        g->object_free = o->next_free;
        return o;
    }
    if (!mpr_gpu_grow(r, (void **)&g->object, g->objects, &g->object_cap, sizeof *g->object)) return NULL;
    return &g->object[g->objects++];
}

/* The handle is handed out again, so its last references are dropped, though who dropped them has not said so yet (a thread
 * reports after the driver has returned): what it will say is owed. */
static void settle(struct mpr_replay *r, uint64_t handle)
{
    struct mpr_object *o = find(&r->gpu, handle);
    if (!o) return;
    r->gpu.owed += o->refs;
    o->owed = o->refs;
    o->refs = 0;
    release_if_unused(r, o);
}

static bool pay(struct mpr_gpu *g, uint64_t handle)
{
    for (uint32_t i = 0; g->owed && i < g->objects; i++) {
        struct mpr_object *o = &g->object[i];
        if (!o->owed || o->handle != handle) continue;
        g->owed--;
        o->owed--;
        retire(g, o);
        return true;
    }
    return false;
}

bool mpr_handle_new(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    settle(r, e->addr);
    struct mpr_object *o = new_object(r);
    if (!o) return false;
    *o = (struct mpr_object){ .handle = e->addr, .refs = 1, .live = true };
    if (!mpr_gpu_book(r, t, e, &o->block)) return false;
    o->block.addr = 0;
    o->block.handle = true;
    return mpf_heap_is_gpu(e->heap);
}

void mpr_handle_import(struct mpr_replay *r, const struct mpf_event *e)
{
    struct mpr_object *o = find(&r->gpu, e->addr);
    if (o) {
        o->refs++;
        return;
    }
    o = new_object(r);
    if (o) *o = (struct mpr_object){ .handle = e->addr, .refs = 1, .live = true, .imported = true };
}

/* ---- mappings */

/* Index of the first mapping that ends behind the address. */
static size_t first_behind(const struct mpr_gpu *g, uint64_t at)
{
    size_t low = 0, high = g->maps;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (g->map[middle].at + g->map[middle].bytes <= at) low = middle + 1;
        else high = middle;
    }
    return low;
}

void mpr_handle_retain(struct mpr_replay *r, uint64_t handle, uint64_t at)
{
    struct mpr_gpu *g = &r->gpu;
    const size_t i = first_behind(g, at);
    struct mpr_object *o = i < g->maps && g->map[i].at <= at ? &g->object[g->map[i].object] : find(g, handle);
    if (!o) return;
    o->refs++;
    o->handle = handle;
}

void mpr_handle_drop(struct mpr_replay *r, uint64_t handle)
{
    struct mpr_object *o = pay(&r->gpu, handle) ? NULL : find(&r->gpu, handle);
    if (!o) return;
    o->refs--;
    release_if_unused(r, o);
}

/* Memory with a handle is a block where it is mapped first, from when it was made on; mapped again later, from then on. */
static void show(struct mpr_replay *r, struct mpr_object *o, uint64_t at)
{
    const uint64_t from = o->shown ? r->now : o->block.time;
    o->block.addr = at;
    if (!o->imported) mpr_gpu_seen(r, &o->block, from);
    o->shown = true;
}

static void hide(struct mpr_replay *r, struct mpr_object *o)
{
    if (!o->imported) mpr_gpu_unseen(r, &o->block);
    o->block.addr = 0;
}

void mpr_handle_map(struct mpr_replay *r, uint64_t handle, uint64_t at, uint64_t bytes)
{
    struct mpr_gpu *g = &r->gpu;
    struct mpr_object *o = find(g, handle);
    uint32_t cap = (uint32_t)g->map_cap;
    if (!o || !mpr_gpu_grow(r, (void **)&g->map, (uint32_t)g->maps, &cap, sizeof *g->map)) return;
    g->map_cap = cap;
    const size_t i = first_behind(g, at);
    memmove(g->map + i + 1, g->map + i, (g->maps - i) * sizeof *g->map);
    g->map[i] = (struct mpr_map){ at, bytes, (uint32_t)(o - g->object) };
    g->maps++;
    if (!o->mappings++) show(r, o, at);
}

void mpr_handle_unmap(struct mpr_replay *r, uint64_t at, uint64_t bytes)
{
    struct mpr_gpu *g = &r->gpu;
    const size_t first = first_behind(g, at);
    size_t end = first;
    for (; end < g->maps && g->map[end].at < at + bytes; end++) {
        struct mpr_object *o = &g->object[g->map[end].object];
        o->mappings--;
        if (o->block.addr == g->map[end].at) hide(r, o);
        release_if_unused(r, o);
    }
    if (end > first) memmove(g->map + first, g->map + end, (g->maps - end) * sizeof *g->map);
    g->maps -= end - first;
}
