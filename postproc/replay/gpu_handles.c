/* Physical memory with handles (cuMemCreate).  References and mappings are counted, and the bytes
 * leave the accounts with the last of them.  If memory is mapped where memory of the same library
 * was unmapped (sleep mode), it has the same use: a segment of PyTorch, or memory of the
 * communicator.
 *
 * Invariant: an object is found by its handle while it has references.  Without references only its
 * mappings keep the memory, and the driver may give the handle to other memory. */
#include "alloc.h"
#include "amount.h"
#include "block_observers.h"
#include "gpu.h"

/* ---- objects by handle */

static struct mpr_handle_object *find(struct mpr_gpu *g, uint64_t handle)
{
    const uint32_t number = mpr_index_get(&g->handles, handle);
    return number ? &g->object[number - 1] : NULL;
}

static uint32_t number_of(const struct mpr_gpu *g, const struct mpr_handle_object *o)
{
    return (uint32_t)(o - g->object) + 1;
}

/* Makes the object known by this handle, or by none if it has no references. */
static void set_handle(struct mpr_gpu *g, struct mpr_handle_object *o, uint64_t handle)
{
    if (find(g, o->handle) == o) mpr_index_set(&g->handles, o->handle, 0);
    o->handle = handle;
    if (o->refs) mpr_index_set(&g->handles, handle, number_of(g, o));
}

/* Allows the object's place to be reused once nothing refers to it. */
static void recycle(struct mpr_gpu *g, struct mpr_handle_object *o)
{
    if (o->live || o->owed) return;
    o->next_free = g->object_free;
    g->object_free = number_of(g, o);
}

static void release_if_unused(struct mpr_replay *r, struct mpr_handle_object *o)
{
    if (o->refs || o->mappings || !o->live) return;
    o->live = false;
    if (!o->imported) {
        r->accounts.heap[o->block.heap].frees++;
        mpr_gpu_removed(r, &o->block);
        mpr_gpu_accounts_remove(r, &o->block);
        if (mpf_heap_is_gpu(o->block.heap))
            mpr_gpu_match_change(r, mpf_heap_device(o->block.heap),
                                 -mpr_saturating_signed(o->block.size));
    }
    recycle(&r->gpu, o);
}

/* Returns a live object with one reference. */
static struct mpr_handle_object *new_object(struct mpr_gpu *g, uint64_t handle, bool imported)
{
    const uint32_t number =
        MPR_PLACE(g->object, g->objects, g->object_cap, g->object_free, next_free);
    struct mpr_handle_object *o = &g->object[number - 1];
    *o = (struct mpr_handle_object){
        .handle = handle, .refs = 1, .live = true, .imported = imported
    };
    set_handle(g, o, handle);
    return o;
}

/* ---- references */

/* If the driver gives the handle to other memory, the old object has lost its references.  The
 * events of those drops may follow, because threads record them after the driver has returned;
 * until then the object owes them. */
static void on_new(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    struct mpr_gpu *g = &r->gpu;
    struct mpr_handle_object *old = find(g, e->addr), *o;
    if (old) {
        const bool listed = old->owed != 0;
        old->owed += old->refs;
        old->refs = 0;
        set_handle(g, old, e->addr);
        if (!listed) {
            old->next_owed = mpr_index_get(&g->owed, e->addr);
            mpr_index_set(&g->owed, e->addr, number_of(g, old));
        }
        release_if_unused(r, old);
    }
    o = new_object(g, e->addr, false);
    mpr_gpu_account(r, t, e, &o->block);
    o->block.addr = 0;
    o->block.handle = true;
    mpr_gpu_list_guess(r, &o->block, number_of(&r->gpu, o));
    if (!mpf_heap_is_gpu(e->heap)) return;
    mpr_gpu_match_change(r, mpf_heap_device(e->heap), mpr_saturating_signed(e->size));
    mpr_gpu_note_peak(r, mpf_heap_device(e->heap), false);
}

/* @handle: may be a new one for the memory that is mapped at @at */
static void on_retain(struct mpr_replay *r, uint64_t handle, uint64_t at)
{
    struct mpr_gpu *g = &r->gpu;
    const struct mpr_interval *map = mpr_intervals_find(&g->maps, at);
    struct mpr_handle_object *o =
        map && map->start <= at ? &g->object[map->value] : find(g, handle);
    if (!o) return;
    o->refs++;
    set_handle(g, o, handle);
}

static void on_drop(struct mpr_replay *r, uint64_t handle)
{
    struct mpr_gpu *g = &r->gpu;
    const uint32_t owing = mpr_index_get(&g->owed, handle);
    mpr_gpu_take_snapshots(r);
    struct mpr_handle_object *o = owing ? &g->object[owing - 1] : find(g, handle);
    if (!o) return;
    if (owing) { /* the drop that an object owes */
        if (--o->owed) return;
        mpr_index_set(&g->owed, handle, o->next_owed);
        recycle(g, o);
        return;
    }
    if (!--o->refs) set_handle(g, o, handle);
    release_if_unused(r, o);
}

/* ---- mappings */

/* Observers get memory with a handle at its first mapping, as live since it was created.  If it is
 * mapped again later, it is live since that mapping. */
static void on_map(struct mpr_replay *r, uint64_t handle, uint64_t at, uint64_t bytes)
{
    struct mpr_gpu *g = &r->gpu;
    struct mpr_handle_object *o = find(g, handle);
    if (!o) return;
    const struct mpr_interval map = { at, mpr_interval_end(at, bytes), (uint32_t)(o - g->object),
                                      false };
    mpr_intervals_insert(&g->maps, &map);
    g->mappings++;
    if (o->mappings++) return;
    struct mpr_gpu_block *b = &o->block;
    const uint64_t from = o->was_mapped ? r->now : b->time;
    b->addr = at;
    o->was_mapped = true;
    if (o->imported) return;
    const uint32_t number = mpr_index_get(&g->unmapped_owner_at, at);
    const struct mpr_unmapped_owner *before = number ? &g->unmapped_owner[number - 1] : NULL;
    if (before && before->library == b->library) {
        b->segment |= before->segment;
        if (before->comm) mpr_gpu_guess_comm(r, b, before->comm);
    }
    mpr_gpu_observe_mapped(r, b, from);
}

/* Stores the owner of the memory, in case memory is mapped at this address again. */
static void first_mapping_removed(struct mpr_replay *r, struct mpr_handle_object *o)
{
    struct mpr_gpu *g = &r->gpu;
    struct mpr_gpu_block *b = &o->block;
    if (!o->imported && (b->segment || b->comm)) {
        const uint32_t number = mpr_index_get(&g->unmapped_owner_at, b->addr);
        struct mpr_unmapped_owner *owner =
            number ? &g->unmapped_owner[number - 1]
                   : MPR_ADD(g->unmapped_owner, g->unmapped_owners, g->unmapped_owner_cap);
        *owner = (struct mpr_unmapped_owner){ b->library, b->comm, b->segment };
        if (!number) mpr_index_set(&g->unmapped_owner_at, b->addr, g->unmapped_owners);
    }
    if (!o->imported) {
        mpr_gpu_removed(r, b);
        mpr_observe_free(r, mpr_block_key(b->addr, b->heap), b->size);
    }
    b->addr = 0;
}

static void on_unmap(struct mpr_replay *r, uint64_t at, uint64_t bytes)
{
    struct mpr_gpu *g = &r->gpu;
    const struct mpr_position first = mpr_intervals_after(&g->maps, at);
    const uint64_t end = mpr_interval_end(at, bytes);
    const struct mpr_interval *map;
    size_t count = 0;
    mpr_gpu_take_snapshots(r);
    MPR_INTERVALS_EACH(map, &g->maps, first, end)
    {
        struct mpr_handle_object *o = &g->object[map->value];
        o->mappings--;
        if (o->block.addr == map->start) first_mapping_removed(r, o);
        release_if_unused(r, o);
        count++;
    }
    mpr_intervals_remove(&g->maps, first, count);
    if (!count) return;
    mpr_device_snapshot_unmapped(&g->unmapped, at, end);
    g->mappings++;
}

void mpr_handle_event(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    struct mpr_handle_object *known;
    switch (e->op) {
    case MPF_OP_HANDLE_NEW: on_new(r, t, e); break;
    case MPF_OP_HANDLE_IMPORT:
        known = find(&r->gpu, e->addr);
        if (known) known->refs++;
        else new_object(&r->gpu, e->addr, true);
        break;
    case MPF_OP_HANDLE_RETAIN: on_retain(r, e->addr, mpr_gpu_word(e, 0)); break;
    case MPF_OP_HANDLE_DROP: on_drop(r, e->addr); break;
    case MPF_OP_HANDLE_MAP: on_map(r, e->addr, mpr_gpu_word(e, 0), mpr_gpu_word(e, 1)); break;
    case MPF_OP_HANDLE_UNMAP: on_unmap(r, e->addr, e->size); break;
    default: break;
    }
}
