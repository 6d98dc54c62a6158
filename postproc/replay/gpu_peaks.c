/* Invariant: what is live at the best instant has only grown since, as long as its picture is
 * stale. */
#include "gpu_peaks.h"

#include "amount.h"
#include "instants.h"
#include "mpf/sample.h"
#include "picture.h"

bool mpr_gpu_is_there(const struct mpr_replay *r, unsigned device)
{
    return r->gpu.device[device].seen || r->books.heap[mpf_heap_gpu(MPF_HEAP_TORCH, device)].used;
}

uint64_t mpr_gpu_tracked(const struct mpr_replay *r, unsigned device)
{
    return r->books.heap[mpf_heap_gpu(MPF_HEAP_DEVICE, device)].bytes;
}

uint64_t mpr_gpu_used(const struct mpr_replay *r, unsigned device)
{
    const uint64_t tracked = mpr_gpu_tracked(r, device),
                   used = mpr_gpu_device_used(&r->gpu.device[device], tracked);
    return used == MPF_UNKNOWN ? tracked : used;
}

/* An allocation is recorded when the driver has returned, so a measurement by another thread may
 * have it already, or a free not any more: then it was a surprise of about that size, and is taken
 * for what it is. */
void mpr_gpu_explain(struct mpr_replay *r, unsigned device, int64_t change)
{
    struct mpr_gpu_device *d = &r->gpu.device[device];
    const int64_t most = change < 0 ? mpr_minus(0, d->surprise) : d->surprise,
                  size = change < 0 ? mpr_minus(0, change) : change;
    if (size == 0 || most < size - size / 16 || r->now - d->surprise_time > MPR_IN_FLIGHT_NS)
        return;
    d->tracked_then += (uint64_t)change;
    d->surprise = mpr_minus(d->surprise, change);
}

/* ---- the best instant */

static void raise_best_at(const struct mpr_replay *r, unsigned device, struct mpr_best *best,
                          bool measured, uint64_t time)
{
    const uint64_t used = mpr_gpu_used(r, device), tracked = mpr_gpu_tracked(r, device),
                   torch = r->books.heap[mpf_heap_gpu(MPF_HEAP_TORCH, device)].bytes;
    const uint64_t slack = measured && tracked < best->tracked ? best->used / 32 : 0;
    if (used < best->used + slack || (used == best->used && torch <= best->torch)) return;
    *best = (struct mpr_best){ used, torch, tracked, time, true };
}

static void raise_best(const struct mpr_replay *r, unsigned device, struct mpr_best *best,
                       bool measured)
{
    raise_best_at(r, device, best, measured, r->now);
}

static void take(const struct mpr_replay *r, unsigned device, struct mpr_best *best,
                 struct mpr_picture *picture)
{
    if (!best->stale) return;
    best->stale = false;
    mpr_picture_begin(picture, r, device, best->time);
}

void mpr_gpu_gone(struct mpr_replay *r, const struct mpr_gpu_block *b)
{
    if (!mpf_heap_is_gpu(b->heap)) return;
    struct mpr_gpu *g = &r->gpu;
    mpr_picture_gone(&g->device[mpf_heap_device(b->heap)].peak, b);
    for (uint32_t i = 0; i < g->pictures; i++) mpr_picture_gone(&g->oom[g->pictured[i]].picture, b);
    for (size_t i = 0; i < g->windows; i++) mpr_picture_gone(&g->window[i].peak, b);
    if (g->instants) mpr_instants_gone(g->instants, b);
}

static bool is_open(const struct mpr_replay *r, const struct mpr_window *w)
{
    return r->now >= w->from && r->now <= w->to;
}

void mpr_gpu_note_peak(struct mpr_replay *r, unsigned device, bool measured)
{
    if (!r->pinned) raise_best(r, device, &r->gpu.device[device].best, measured);
    for (size_t i = 0; i < r->gpu.windows; i++) {
        struct mpr_window *w = &r->gpu.window[i];
        if (w->device == device && is_open(r, w)) raise_best(r, device, &w->best, measured);
    }
}

void mpr_gpu_take_pictures(struct mpr_replay *r)
{
    for (unsigned i = 0; i < MPF_GPUS && !r->pinned; i++)
        take(r, i, &r->gpu.device[i].best, &r->gpu.device[i].peak);
    for (size_t i = 0; i < r->gpu.windows; i++) {
        struct mpr_window *w = &r->gpu.window[i];
        if (is_open(r, w) && !w->best.time)
            raise_best(r, w->device, &w->best, false); /* what it began with */
        take(r, w->device, &w->best, &w->peak);
    }
}

void mpr_gpu_close_windows(struct mpr_replay *r)
{
    for (size_t i = 0; i < r->gpu.windows; i++) {
        struct mpr_window *w = &r->gpu.window[i];
        if (r->now <= w->to) continue;
        if (!w->best.time) { /* nothing happened in it */
            raise_best(r, w->device, &w->best, false);
            w->best.time = w->to;
        }
        take(r, w->device, &w->best, &w->peak);
    }
}

/* ---- the chosen instant */

void mpr_gpu_choose(struct mpr_replay *r)
{
    for (unsigned i = 0; i < MPF_GPUS; i++) {
        mpr_picture_free(&r->gpu.device[i].peak);
        r->gpu.device[i].best = (struct mpr_best){ 0 };
    }
}

void mpr_gpu_carry(struct mpr_replay *r, uint64_t time)
{
    for (unsigned i = 0; i < MPF_GPUS; i++)
        raise_best_at(r, i, &r->gpu.device[i].best, false, time);
}

void mpr_gpu_chosen(struct mpr_replay *r)
{
    mpr_gpu_take_pictures(r);
    for (unsigned i = 0; i < MPF_GPUS; i++) /* those that held nothing, too */
        if (!r->gpu.device[i].peak.valid)
            mpr_picture_take(&r->gpu.device[i].peak, r, i, r->options.at.from);
}

/* ---- the end */

void mpr_gpu_finish(struct mpr_replay *r)
{
    struct mpr_gpu *g = &r->gpu;
    mpr_gpu_take_pictures(r);
    for (unsigned i = 0; i < MPF_GPUS; i++) mpr_picture_end(&g->device[i].peak, r);
    for (uint32_t i = 0; i < g->pictures; i++) mpr_picture_end(&g->oom[g->pictured[i]].picture, r);
    for (size_t i = 0; i < g->windows; i++) mpr_picture_end(&g->window[i].peak, r);
}
