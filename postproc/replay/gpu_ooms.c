/* Out-of-memory events of devices. A refusal of the driver counts as hard until the thread gets
 * what it asked for. PyTorch empties its cache and asks again, and reports when it gives up. */
#include <string.h>

#include "alloc.h"
#include "alloc_context.h"
#include "gpu.h"

static struct mpr_oom *new_oom(struct mpr_replay *r, struct mpr_thread *t,
                               const struct mpf_event *e)
{
    struct mpr_gpu *g = &r->gpu;
    MPR_GROW(g->oom, g->ooms, g->oom_cap);
    struct mpr_oom *o = &g->oom[g->ooms++];
    *o = (struct mpr_oom){ .time = e->time,
                           .bytes = e->addr,
                           .free = MPF_UNKNOWN,
                           .total = MPF_UNKNOWN,
                           .thread = t->number,
                           .heap = e->heap,
                           .hard = true };
    o->node = mpr_thread_inherited_path(r, t, &o->inherited);
    o->library = mpr_sites_library(&r->sites, t->at.stack);
    o->python = t->at.python;
    o->torch = mpr_sites_for_torch(&r->sites, t->at.stack);
    t->gpu.oom = g->ooms;
    t->gpu.oom_past = false;
    return o;
}

/* The newest of several attempts has the snapshot. If there are too many snapshots, the oldest
 * failure that was recovered from loses its own, or else the oldest one. */
static void take_snapshot(struct mpr_replay *r, struct mpr_oom *o)
{
    struct mpr_gpu *g = &r->gpu;
    if (!mpf_heap_is_gpu(o->heap)) return;
    if (!o->snapshot.valid && g->snapshots == MPR_OOM_SNAPSHOTS) {
        uint32_t i = 0;
        while (i < g->snapshots && g->oom[g->with_snapshot[i]].hard) i++;
        if (i == g->snapshots) i = 0;
        mpr_device_snapshot_free(&g->oom[g->with_snapshot[i]].snapshot);
        g->snapshots--;
        memmove(&g->with_snapshot[i], &g->with_snapshot[i + 1],
                (g->snapshots - i) * sizeof *g->with_snapshot);
    }
    if (!o->snapshot.valid) g->with_snapshot[g->snapshots++] = (uint32_t)(o - g->oom);
    mpr_device_snapshot_begin(&o->snapshot, r, mpf_heap_device(o->heap), r->now);
}

/* PyTorch asks again after it has emptied its cache and before it makes anything else: the attempts
 * are one failure. */
void mpr_oom_driver(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    enum { OUT_OF_MEMORY = 2 };
    struct mpr_heap *heap = &r->accounts.heap[e->heap];
    if (mpr_gpu_word(e, MPF_FAIL_PROBE) == 1) return;
    heap->failures++;
    heap->used = true;
    if (e->addr >= heap->largest.size)
        heap->largest =
            (struct mpr_failure){ e->time, e->addr, (unsigned)mpr_gpu_word(e, MPF_FAIL_RESULT) };
    if (mpr_gpu_word(e, MPF_FAIL_RESULT) != OUT_OF_MEMORY) return;
    struct mpr_oom *o = t->gpu.oom ? &r->gpu.oom[t->gpu.oom - 1] : NULL;
    if (!o || t->gpu.oom_past || o->bytes != e->addr || o->heap != e->heap) o = new_oom(r, t, e);
    const uint64_t before = o->attempts ? o->free : mpr_gpu_word(e, MPF_FAIL_FREE);
    o->attempts++;
    o->free = mpr_gpu_word(e, MPF_FAIL_FREE);
    o->total = mpr_gpu_word(e, MPF_FAIL_TOTAL);
    o->capturing = mpr_gpu_word(e, MPF_FAIL_CAPTURING) == 1;
    if (o->free != MPF_UNKNOWN && o->free > before && o->free - before > o->flushed)
        o->flushed = o->free - before;
    if (mpf_heap_is_gpu(e->heap) && o->total != MPF_UNKNOWN && o->free <= o->total)
        mpr_hidden_refused(r, mpf_heap_device(e->heap), o->total - o->free);
    take_snapshot(r, o);
}

/* If the driver refused memory, that event comes first, with the size that PyTorch rounded up. */
void mpr_oom_torch(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    struct mpr_oom *o = t->gpu.oom ? &r->gpu.oom[t->gpu.oom - 1] : new_oom(r, t, e);
    o->torch = o->hard = true;
    o->torch_allocated = mpr_gpu_word(e, MPF_TORCH_ALLOCATED);
    o->torch_reserved = mpr_gpu_word(e, MPF_TORCH_RESERVED);
    if (!o->attempts) take_snapshot(r, o);
    o->time = e->time;
    t->gpu.torch_oom = (uint32_t)(o - r->gpu.oom) + 1;
    t->gpu.oom = 0;
}

void mpr_oom_got_over(struct mpr_replay *r, struct mpr_thread *t, const struct mpr_gpu_block *b,
                      bool torch)
{
    if (!t->gpu.oom) return;
    struct mpr_oom *o = &r->gpu.oom[t->gpu.oom - 1];
    t->gpu.oom_past = true;
    if (o->torch ? !torch : b->size < o->bytes) return;
    o->hard = false;
    t->gpu.oom = 0;
}

void mpr_oom_freed(struct mpr_replay *r, const struct mpr_thread *t, uint64_t bytes)
{
    if (t->gpu.oom && !t->gpu.oom_past) r->gpu.oom[t->gpu.oom - 1].flushed += bytes;
}

const struct mpr_oom *mpr_oom_newest(const struct mpr_gpu *g)
{
    for (uint32_t i = g->ooms; i-- > 0;)
        if (g->oom[i].hard && g->oom[i].snapshot.valid) return &g->oom[i];
    return NULL;
}

/* PyTorch asks the driver for segments: 2 MiB for small blocks, 20 MiB for those below 10 MiB,
 * multiples of 2 MiB above (c10/cuda/CUDACachingAllocator.cpp). */
uint64_t mpr_oom_needed(const struct mpr_oom *oom)
{
    const uint64_t mib = 1 << 20, bytes = oom->bytes;
    if (!oom->torch) return bytes;
    if (bytes <= mib) return 2 * mib;
    if (bytes < 10 * mib) return 20 * mib;
    return (bytes + 2 * mib - 1) / (2 * mib) * (2 * mib);
}
