/* Used bytes of a device, by measurement. Allocations that no event names (contexts, modules,
 * graphs) are the growth of used bytes around the calls that cause it, less what was tracked
 * meanwhile. */
#include <string.h>

#include "amount.h"
#include "gpu.h"
#include "mpf/slot.h"

bool mpr_gpu_is_there(const struct mpr_replay *r, unsigned device)
{
    return r->gpu.device[device].seen ||
           r->accounts.heap[mpf_heap_gpu(MPF_HEAP_TORCH, device)].used;
}

/* ---- differences between measured and expected bytes */

/* An allocation is recorded after the driver has returned, so a measurement by another thread may
 * already include it, or no longer include a block that is being freed. Then the residual has about
 * that size, and the change is attributed to the measurement. */
void mpr_gpu_explain(struct mpr_replay *r, unsigned device, int64_t change)
{
    struct mpr_gpu_device *d = &r->gpu.device[device];
    const int64_t residual = change < 0 ? mpr_signed_sub(0, d->residual) : d->residual,
                  size = change < 0 ? mpr_signed_sub(0, change) : change;
    if (size == 0 || residual < size - size / 16 || r->now - d->residual_time > MPR_IN_FLIGHT_NS)
        return;
    d->tracked_then += (uint64_t)change;
    d->residual = mpr_signed_sub(d->residual, change);
}

/* @difference: measured minus expected bytes. The driver takes longer for a large allocation than
 * from one measurement to the next, so the residuals of several measurements may belong to one. */
static void note_residual(struct mpr_replay *r, struct mpr_gpu_device *d, int64_t difference)
{
    const int64_t large = INT64_C(256) << 20;
    const bool goes_on = r->now - d->residual_time <= MPR_IN_FLIGHT_NS && d->residual >= large;
    if (goes_on && !difference) return;
    d->residual = goes_on ? mpr_signed_add(d->residual, difference) : difference;
    d->residual_time = r->now;
}

/* A measurement that only confirms the peak does not move it to an instant with less tracked
 * memory: another process may still map memory that is freed here (NCCL's peers), and it is
 * explained better while it belongs to this process. */
static void measured(struct mpr_replay *r, unsigned device, uint64_t used)
{
    struct mpr_gpu_device *d = &r->gpu.device[device];
    mpr_gpu_take_snapshots(r);
    note_residual(
        r, d, d->used == MPF_UNKNOWN ? 0 : mpr_signed_difference(mpr_gpu_used(r, device), used));
    d->used = used;
    d->tracked_then = mpr_gpu_tracked(r, device);
    mpr_gpu_note_peak(r, device, true);
}

/* ---- growth around calls */

static int part_of(struct mpr_gpu_device *d, uint64_t call)
{
    switch (call) {
    case MPF_CALL_CONTEXT:
    case MPF_CALL_CONTEXT_GONE: return MPR_PART_CONTEXT;
    case MPF_CALL_LIMIT: d->limit_raised = true; return MPR_PART_LOCAL;
    case MPF_CALL_LOCAL: return MPR_PART_LOCAL;
    case MPF_CALL_LAUNCH: {
        const bool limit = d->limit_raised;
        d->limit_raised = false;
        return limit ? MPR_PART_LOCAL : MPR_PART_MODULES;
    }
    case MPF_CALL_MODULE:
    case MPF_CALL_MODULE_GONE: return MPR_PART_MODULES;
    case MPF_CALL_STREAM: return MPR_PART_STREAMS;
    case MPF_CALL_POOL: return MPR_PART_POOLS;
    default: return MPR_PART_GRAPHS;
    }
}

void mpr_hidden_enter(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    const unsigned device = mpf_heap_device(e->heap);
    t->gpu.entered = e->size != MPF_SIZE_MAX;
    t->gpu.enter.call = (uint32_t)e->addr;
    t->gpu.enter.device = (uint8_t)device;
    t->gpu.enter.used = e->size;
    t->gpu.enter.tracked = mpr_gpu_tracked(r, device);
    t->gpu.enter.serial = ++r->gpu.serial;
}

/* Returns the growth of used bytes beyond the tracked change since the entry, or since a call of
 * another thread that returned meanwhile. */
static int64_t hidden_growth(struct mpr_replay *r, struct mpr_thread *t, uint64_t used)
{
    struct mpr_gpu_device *d = &r->gpu.device[t->gpu.enter.device];
    const bool overlapped = d->after.serial > t->gpu.enter.serial;
    const uint64_t used_before = overlapped ? d->after.used : t->gpu.enter.used,
                   tracked_before = overlapped ? d->after.tracked : t->gpu.enter.tracked,
                   tracked = mpr_gpu_tracked(r, t->gpu.enter.device);
    d->after.used = used;
    d->after.tracked = tracked;
    d->after.serial = ++r->gpu.serial;
    return mpr_signed_sub(mpr_signed_difference(used_before, used),
                          mpr_signed_difference(tracked_before, tracked));
}

void mpr_hidden_return(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    const uint64_t call = mpr_gpu_word(e, MPF_RETURN_CALL);
    const unsigned device = mpf_heap_device(e->heap);
    const bool known = t->gpu.entered && e->addr != MPF_UNKNOWN && t->gpu.enter.device == device;
    struct mpr_gpu_device *d = &r->gpu.device[device];
    const int64_t kernels = (int64_t)mpr_gpu_word(e, MPF_RETURN_A), /* local memory of kernels */
        growth = call == MPF_CALL_LOCAL ? kernels
                 : known                ? hidden_growth(r, t, e->addr)
                                        : 0;
    int64_t local = 0; /* the part of a launch's growth that is such memory */
    if (call == MPF_CALL_LAUNCH && growth > 0 && kernels > 0)
        local = kernels < growth ? kernels : growth;
    t->gpu.entered = false;
    int64_t *part = &d->part[part_of(d, call)];
    *part = mpr_signed_add(*part, mpr_signed_sub(growth, local));
    d->part[MPR_PART_LOCAL] = mpr_signed_add(d->part[MPR_PART_LOCAL], local);
    if (e->addr != MPF_UNKNOWN) measured(r, device, e->addr);
    if (mpr_gpu_word(e, MPF_RETURN_RESULT) == 0 || call != MPF_CALL_GRAPH)
        mpr_graph_call(r, t, e, growth);
}

/* ---- the process's own bytes */

static int64_t sum_of(const int64_t *part)
{
    int64_t sum = 0;
    for (int i = 0; i < MPR_PARTS; i++) sum = mpr_signed_add(sum, part[i]);
    return sum;
}

/* Used bytes are those of all processes, so growth around a call may belong to another process.
 * This process has at most its own measured bytes plus what was measured after that. */
bool mpr_hidden_cut(const struct mpr_gpu_device *d, int64_t *part)
{
    /* Own and used bytes are read one after the other and differ by some MiB. */
    const int64_t slack = INT64_C(16) << 20;
    const int64_t sum = sum_of(part), later = mpr_signed_sub(sum, d->parts_then),
                  own = d->own_hidden > 0 ? d->own_hidden : 0,
                  limit = mpr_signed_add(own, later > 0 ? later : 0);
    int64_t excess = mpr_signed_sub(sum, limit);
    if (!d->own_known || excess < slack) return false;
    for (int i = 0; i < MPR_PARTS && excess > 0; i++) {
        const int64_t cut = part[i] <= 0 ? 0 : part[i] < excess ? part[i] : excess;
        part[i] -= cut;
        excess -= cut;
    }
    return true;
}

static int64_t median_of_recent(const struct mpr_gpu_device *d)
{
    const int64_t a = d->own_recent[0], b = d->own_recent[1], c = d->own_recent[2],
                  low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* A sample has the bytes of an allocation before its event, and no longer those of a block that is
 * being freed.  If no sample followed, nothing changed since.  Otherwise the median of three
 * samples has neither error.  Samples omit some MiB that belong to the process, so a small
 * difference from the growth around its calls does not count. */
uint64_t mpr_gpu_own(const struct mpr_replay *r, unsigned device)
{
    const int64_t slack = INT64_C(16) << 20;
    const struct mpr_gpu_device *d = &r->gpu.device[device];
    const uint64_t tracked = mpr_gpu_tracked(r, device);
    const bool quiet = d->own_known && r->now - d->own_time > MPR_IN_FLIGHT_NS;
    int64_t part[MPR_PARTS], sampled;
    memcpy(part, d->part, sizeof part);
    mpr_hidden_cut(d, part);
    int64_t hidden = sum_of(part);
    if (quiet) sampled = mpr_signed_difference(tracked, d->own);
    else {
        const int64_t later = mpr_signed_sub(sum_of(d->part), d->parts_then);
        sampled = mpr_signed_add(median_of_recent(d), later > 0 ? later : 0);
    }
    const bool known = quiet || d->own_samples >= MPR_OWN_SAMPLES;
    if (known && (hidden > sampled + slack || (quiet && hidden < sampled - slack)))
        hidden = sampled;
    return tracked + (hidden > 0 ? (uint64_t)hidden : 0);
}

/* ---- measurements */

/* The driver's figure at a refusal is newer than the last sample. If they differ, nothing shows
 * which process the difference belongs to. Without any sample the figure is ignored, because it
 * could not be compared with an earlier instant. */
void mpr_hidden_refused(struct mpr_replay *r, unsigned device, uint64_t used)
{
    const int64_t slack = INT64_C(64) << 20;
    struct mpr_gpu_device *d = &r->gpu.device[device];
    const int64_t change = mpr_signed_difference(mpr_gpu_used(r, device), used);
    if (d->used == MPF_UNKNOWN) return;
    if (change > slack || change < -slack) d->others = MPF_UNKNOWN;
    measured(r, device, used);
}

void mpr_hidden_sample(struct mpr_replay *r, const struct mpf_event *e)
{
    const unsigned device = mpf_heap_device(e->heap);
    const uint64_t used = mpr_gpu_word(e, MPF_GPU_USED), total = mpr_gpu_word(e, MPF_GPU_TOTAL),
                   own = mpr_gpu_word(e, MPF_GPU_OWN),
                   file_cache = mpr_gpu_word(e, MPF_GPU_FILE_CACHE);
    struct mpr_gpu_device *d = &r->gpu.device[device];
    mpr_gpu_take_snapshots(r);
    if (total != MPF_UNKNOWN) d->total = total;
    if (file_cache != MPF_UNKNOWN) d->file_cache = file_cache;
    if (used == MPF_UNKNOWN) return;
    if (own != MPF_UNKNOWN) {
        const int64_t hidden = mpr_signed_difference(mpr_gpu_tracked(r, device), own);
        if (!d->own_known || hidden > d->own_hidden) d->own_hidden = hidden;
        d->own_known = true;
        d->own = own;
        d->own_time = r->now;
        d->own_recent[d->own_samples++ % MPR_OWN_SAMPLES] = hidden;
        d->parts_then = sum_of(d->part);
        d->others = mpr_saturating_sub(used, own);
    }
    mpr_pools_limit(r, device, used);
    measured(r, device, used);
}
