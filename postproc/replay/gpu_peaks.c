/* When snapshots are taken: at the peak of each device, of each window, and of the selected
 * instant.
 *
 * Invariant: while the snapshot of a best instant is stale, the live blocks have only grown since.
 */
#include "device_snapshots.h"
#include "gpu.h"

/* ---- the best instant */

/* @time: ns. The current state of the device counts as its state at this time. */
static void raise_best(const struct mpr_replay *r, unsigned device, struct mpr_best_instant *best,
                       bool measured, uint64_t time)
{
    const uint64_t used = mpr_gpu_used(r, device), tracked = mpr_gpu_tracked(r, device),
                   torch = r->accounts.heap[mpf_heap_gpu(MPF_HEAP_TORCH, device)].bytes;
    const uint64_t slack = measured && tracked < best->tracked ? best->used / 32 : 0;
    if (used < best->used + slack || (used == best->used && torch <= best->torch)) return;
    *best = (struct mpr_best_instant){ used, torch, tracked, time, true };
}

static void begin_if_stale(const struct mpr_replay *r, unsigned device,
                           struct mpr_best_instant *best, struct mpr_device_snapshot *snapshot)
{
    if (!best->stale) return;
    best->stale = false;
    mpr_device_snapshot_begin(snapshot, r, device, best->time);
}

static bool is_open(const struct mpr_replay *r, const struct mpr_peak_window *w)
{
    return r->now >= w->from && r->now <= w->to;
}

void mpr_gpu_note_peak(struct mpr_replay *r, unsigned device, bool measured)
{
    if (!r->pinned) raise_best(r, device, &r->gpu.device[device].best, measured, r->now);
    for (size_t i = 0; i < r->gpu.windows; i++) {
        struct mpr_peak_window *w = &r->gpu.window[i];
        if (w->device == device && is_open(r, w)) raise_best(r, device, &w->best, measured, r->now);
    }
}

void mpr_gpu_take_snapshots(struct mpr_replay *r)
{
    for (unsigned i = 0; i < MPF_GPUS && !r->pinned; i++)
        begin_if_stale(r, i, &r->gpu.device[i].best, &r->gpu.device[i].peak);
    for (size_t i = 0; i < r->gpu.windows; i++) {
        struct mpr_peak_window *w = &r->gpu.window[i];
        /* The state at the begin of the window counts as well. */
        if (is_open(r, w) && !w->best.time) raise_best(r, w->device, &w->best, false, r->now);
        begin_if_stale(r, w->device, &w->best, &w->peak);
    }
}

void mpr_gpu_close_windows(struct mpr_replay *r)
{
    for (size_t i = 0; i < r->gpu.windows; i++) {
        struct mpr_peak_window *w = &r->gpu.window[i];
        if (r->now <= w->to) continue;
        if (!w->best.time) { /* nothing happened in it */
            raise_best(r, w->device, &w->best, false, r->now);
            w->best.time = w->to;
        }
        begin_if_stale(r, w->device, &w->best, &w->peak);
    }
}

void mpr_gpu_removed(struct mpr_replay *r, const struct mpr_gpu_block *b)
{
    if (!mpf_heap_is_gpu(b->heap)) return;
    struct mpr_gpu *g = &r->gpu;
    mpr_device_snapshot_keep(&g->device[mpf_heap_device(b->heap)].peak, b);
    for (uint32_t i = 0; i < g->snapshots; i++)
        mpr_device_snapshot_keep(&g->oom[g->with_snapshot[i]].snapshot, b);
    for (size_t i = 0; i < g->windows; i++) mpr_device_snapshot_keep(&g->window[i].peak, b);
    if (g->instants) mpr_device_snapshots_keep(g->instants, b);
}

/* ---- the selected instant */

void mpr_gpu_instant_begin(struct mpr_replay *r)
{
    for (unsigned i = 0; i < MPF_GPUS; i++) {
        mpr_device_snapshot_free(&r->gpu.device[i].peak);
        r->gpu.device[i].best = (struct mpr_best_instant){ 0 };
    }
}

void mpr_gpu_instant_carry(struct mpr_replay *r, uint64_t time)
{
    for (unsigned i = 0; i < MPF_GPUS; i++) raise_best(r, i, &r->gpu.device[i].best, false, time);
}

void mpr_gpu_instant_end(struct mpr_replay *r)
{
    mpr_gpu_take_snapshots(r);
    for (unsigned i = 0; i < MPF_GPUS; i++) /* devices that held nothing have none yet */
        if (!r->gpu.device[i].peak.valid)
            mpr_device_snapshot_take(&r->gpu.device[i].peak, r, i, r->options.at.from);
}

/* ---- the end */

void mpr_gpu_finish(struct mpr_replay *r)
{
    struct mpr_gpu *g = &r->gpu;
    mpr_gpu_take_snapshots(r);
    for (unsigned i = 0; i < MPF_GPUS; i++) mpr_device_snapshot_finish(&g->device[i].peak, r);
    for (uint32_t i = 0; i < g->snapshots; i++)
        mpr_device_snapshot_finish(&g->oom[g->with_snapshot[i]].snapshot, r);
    for (size_t i = 0; i < g->windows; i++) mpr_device_snapshot_finish(&g->window[i].peak, r);
}
