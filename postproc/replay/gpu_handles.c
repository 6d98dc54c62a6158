/* Invariant: an object is found by its handle while it has references; then its memory lives by its
 * mappings alone, and the driver may give the handle to other memory. */
#include "gpu.h"

#include "alloc.h"
#include "amount.h"
#include "asleep.h"
#include "gpu_book.h"
#include "gpu_peaks.h"

static struct mpr_object *find(struct mpr_gpu *g, uint64_t handle)
{
    const uint32_t number = mpr_index_get(&g->handles, handle);
    return number ? &g->object[number - 1] : NULL;
}

static uint32_t number_of(const struct mpr_gpu *g, const struct mpr_object *o)
{
    return (uint32_t)(o - g->object) + 1;
}

/* From now on the handle means this object, or none. */
static void name(struct mpr_replay *r, struct mpr_object *o, uint64_t handle)
{
    struct mpr_gpu *g = &r->gpu;
    if (find(g, o->handle) == o) mpr_index_set(&g->handles, o->handle, 0);
    o->handle = handle;
    if (o->refs) mpr_index_set(&g->handles, handle, number_of(g, o));
}

/* Its place can be used again. */
static void retire(struct mpr_gpu *g, struct mpr_object *o)
{
    if (o->live || o->owed) return;
    o->next_free = g->object_free;
    g->object_free = number_of(g, o);
}

static void release_if_unused(struct mpr_replay *r, struct mpr_object *o)
{
    if (o->refs || o->mappings || !o->live) return;
    o->live = false;
    if (!o->imported) {
        r->books.heap[o->block.heap].frees++;
        mpr_gpu_gone(r, &o->block);
        mpr_gpu_books_remove(r, &o->block);
        if (mpf_heap_is_gpu(o->block.heap))
            mpr_gpu_explain(r, mpf_heap_device(o->block.heap), -mpr_amount(o->block.size));
    }
    retire(&r->gpu, o);
}

static struct mpr_object *new_object(struct mpr_gpu *g)
{
    if (g->object_free) {
        struct mpr_object *o = &g->object[g->object_free - 1];
        g->object_free = o->next_free;
        return o;
    }
    MPR_GROW(g->object, g->objects, g->object_cap);
    return &g->object[g->objects++];
}

/* The handle is handed out again, so its last references are dropped, though who dropped them has
 * not said so yet (a thread reports after the driver has returned): what it will say is owed. */
static void settle(struct mpr_replay *r, uint64_t handle)
{
    struct mpr_gpu *g = &r->gpu;
    struct mpr_object *o = find(g, handle);
    if (!o) return;
    const bool listed = o->owed != 0;
    o->owed += o->refs;
    o->refs = 0;
    name(r, o, handle);
    if (!listed) {
        o->next_owed = mpr_index_get(&g->owed, handle);
        mpr_index_set(&g->owed, handle, number_of(g, o));
    }
    release_if_unused(r, o);
}

static bool pay(struct mpr_gpu *g, uint64_t handle)
{
    const uint32_t number = mpr_index_get(&g->owed, handle);
    if (!number) return false;
    struct mpr_object *o = &g->object[number - 1];
    if (!--o->owed) {
        mpr_index_set(&g->owed, handle, o->next_owed);
        retire(g, o);
    }
    return true;
}

bool mpr_handle_new(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    settle(r, e->addr);
    struct mpr_object *o = new_object(&r->gpu);
    *o = (struct mpr_object){ .handle = e->addr, .refs = 1, .live = true };
    name(r, o, e->addr);
    mpr_gpu_book(r, t, e, &o->block);
    o->block.addr = 0;
    o->block.handle = true;
    mpr_gpu_guess(r, &o->block, number_of(&r->gpu, o));
    return mpf_heap_is_gpu(e->heap);
}

void mpr_handle_import(struct mpr_replay *r, const struct mpf_event *e)
{
    struct mpr_object *o = find(&r->gpu, e->addr);
    if (o) {
        o->refs++;
        return;
    }
    o = new_object(&r->gpu);
    *o = (struct mpr_object){ .handle = e->addr, .refs = 1, .live = true, .imported = true };
    name(r, o, e->addr);
}

/* ---- mappings */

void mpr_handle_retain(struct mpr_replay *r, uint64_t handle, uint64_t at)
{
    struct mpr_gpu *g = &r->gpu;
    const struct mpr_interval *map = mpr_intervals_at(&g->maps, mpr_intervals_after(&g->maps, at));
    struct mpr_object *o = map && map->start <= at ? &g->object[map->what] : find(g, handle);
    if (!o) return;
    o->refs++;
    name(r, o, handle);
}

void mpr_handle_drop(struct mpr_replay *r, uint64_t handle)
{
    struct mpr_object *o = pay(&r->gpu, handle) ? NULL : find(&r->gpu, handle);
    if (!o) return;
    if (!--o->refs) name(r, o, handle);
    release_if_unused(r, o);
}

/* Whose memory was there, for when it is mapped again (sleep mode, a suspended communicator). */
static void leave(struct mpr_gpu *g, const struct mpr_gpu_block *b)
{
    if (!b->segment && !b->comm) return;
    uint32_t number = mpr_index_get(&g->slept_at, b->addr);
    if (!number) {
        MPR_GROW(g->slept, g->slepts, g->slept_cap);
        number = ++g->slepts;
        mpr_index_set(&g->slept_at, b->addr, number);
    }
    g->slept[number - 1] = (struct mpr_slept){ b->library, b->comm, b->segment };
}

static void come_back(struct mpr_replay *r, struct mpr_gpu_block *b)
{
    const uint32_t number = mpr_index_get(&r->gpu.slept_at, b->addr);
    const struct mpr_slept *s = number ? &r->gpu.slept[number - 1] : NULL;
    if (!s || s->library != b->library) return;
    b->segment |= s->segment;
    if (s->comm) mpr_gpu_suppose(r, b, s->comm);
}

/* Memory with a handle is a block where it is mapped first, from when it was made on; mapped again
 * later, from then on. */
static void show(struct mpr_replay *r, struct mpr_object *o, uint64_t at)
{
    const uint64_t from = o->shown ? r->now : o->block.time;
    o->block.addr = at;
    if (!o->imported) come_back(r, &o->block);
    if (!o->imported) mpr_gpu_seen(r, &o->block, from);
    o->shown = true;
}

static void hide(struct mpr_replay *r, struct mpr_object *o)
{
    if (!o->imported) leave(&r->gpu, &o->block);
    if (!o->imported) mpr_gpu_gone(r, &o->block);
    if (!o->imported) mpr_gpu_unseen(r, &o->block);
    o->block.addr = 0;
}

void mpr_handle_map(struct mpr_replay *r, uint64_t handle, uint64_t at, uint64_t bytes)
{
    struct mpr_gpu *g = &r->gpu;
    struct mpr_object *o = find(g, handle);
    if (!o) return;
    const struct mpr_interval map = { at, bytes > UINT64_MAX - at ? UINT64_MAX : at + bytes,
                                      (uint32_t)(o - g->object), false };
    mpr_intervals_insert(&g->maps, mpr_intervals_after(&g->maps, at), &map);
    g->mappings++;
    if (!o->mappings++) show(r, o, at);
}

void mpr_handle_unmap(struct mpr_replay *r, uint64_t at, uint64_t bytes)
{
    struct mpr_gpu *g = &r->gpu;
    const struct mpr_position first = mpr_intervals_after(&g->maps, at);
    const uint64_t end = bytes > UINT64_MAX - at ? UINT64_MAX : at + bytes;
    const struct mpr_interval *map;
    size_t count = 0;
    for (struct mpr_position place = first;
         (map = mpr_intervals_at(&g->maps, place)) && map->start < end;
         place = mpr_intervals_next(&g->maps, place)) {
        struct mpr_object *o = &g->object[map->what];
        o->mappings--;
        if (o->block.addr == map->start) hide(r, o);
        release_if_unused(r, o);
        count++;
    }
    mpr_intervals_remove(&g->maps, first, count);
    if (!count) return;
    mpr_asleep_unmapped(&g->unmapped, at, end);
    g->mappings++;
}
