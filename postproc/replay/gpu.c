/* Dispatches the events of device memory, and handles descriptions of devices, measured bytes and
 * failures.
 *
 * Memory that no event names (contexts, modules, graphs) is measured as the growth of used bytes
 * around the calls that cause it, less the growth of the tracked bytes. */
#include "gpu.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "alloc_context.h"
#include "amount.h"
#include "backward.h"
#include "mpf/header.h"
#include "mpf/slot.h"

void mpr_gpu_init(struct mpr_gpu *g)
{
    for (int i = 0; i < MPF_GPUS; i++)
        g->device[i].used = g->device[i].others = g->device[i].total = g->device[i].file_cache =
            MPF_UNKNOWN;
}

void mpr_gpu_free(struct mpr_gpu *g)
{
    free(g->driver.at);
    mpr_index_free(&g->driver.number);
    free(g->torch.at);
    mpr_index_free(&g->torch.number);
    for (int i = 0; i < MPF_GPUS; i++) mpr_device_snapshot_free(&g->device[i].peak);
    free(g->object);
    mpr_index_free(&g->handles);
    mpr_index_free(&g->owed);
    mpr_intervals_free(&g->maps);
    mpr_intervals_free(&g->unmapped);
    free(g->unmapped_owner);
    mpr_index_free(&g->unmapped_owner_at);
    for (uint32_t i = 0; i < g->pools; i++) free(g->pool[i].part);
    free(g->pool);
    mpr_index_free(&g->pool_of);
    free(g->comms.comm);
    free(g->comms.schema);
    mpr_index_free(&g->comms.number);
    mpr_index_free(&g->comms.newest);
    free(g->guess);
    free(g->capture);
    mpr_index_free(&g->captured);
    free(g->shared);
    mpr_index_free(&g->shared_of);
    free(g->graph);
    mpr_index_free(&g->executable);
    for (uint32_t i = 0; i < g->ooms; i++) mpr_device_snapshot_free(&g->oom[i].snapshot);
    free(g->oom);
}

/* ---- descriptions */

static void copy_text(char *out, size_t cap, const char *value)
{
    strncpy(out, value, cap - 1);
    out[cap - 1] = 0;
}

static void on_device(struct mpr_replay *r, const struct mpf_event *e)
{
    const char *at = (const char *)e->data, *end = at + e->size, *key, *value;
    if (e->addr >= MPF_GPUS) return;
    struct mpr_gpu_device *d = &r->gpu.device[e->addr];
    d->seen = true;
    while (mpf_pairs_next(&at, end, &key, &value) == 1) {
        if (!strcmp(key, "uuid")) copy_text(d->uuid, sizeof d->uuid, value);
        else if (!strcmp(key, "name")) copy_text(d->name, sizeof d->name, value);
        else if (!strcmp(key, "cupti.off")) copy_text(d->off, sizeof d->off, value);
        else if (!strcmp(key, "used.off")) copy_text(d->used_off, sizeof d->used_off, value);
        else if (!strcmp(key, "by_name")) copy_text(d->by_name, sizeof d->by_name, value);
        else if (!strcmp(key, "shared")) d->shared = true;
        else if (!strcmp(key, "total")) d->total = strtoull(value, NULL, 10);
    }
}

bool mpr_gpu_is_known(const struct mpr_replay *r, unsigned device)
{
    return r->gpu.device[device].seen ||
           r->accounts.heap[mpf_heap_gpu(MPF_HEAP_TORCH, device)].used;
}

/* ---- used bytes: differences between measured and expected bytes */

/* An allocation is recorded after the driver has returned, so a measurement by another thread may
 * already include it, or no longer include a block that is being freed.  If the residual is about
 * as large as the change, the measurement is assumed to include the change. */
void mpr_gpu_match_change(struct mpr_replay *r, unsigned device, int64_t change)
{
    struct mpr_gpu_device *d = &r->gpu.device[device];
    const int64_t residual = change < 0 ? mpr_signed_sub(0, d->residual) : d->residual,
                  size = change < 0 ? mpr_signed_sub(0, change) : change;
    if (size == 0 || residual < size - size / 16 || r->now - d->residual_time > MPR_IN_FLIGHT_NS)
        return;
    d->tracked_at_used += (uint64_t)change;
    d->residual = mpr_signed_sub(d->residual, change);
}

/* Applies a measurement of used bytes.  A measurement that only confirms the peak does not move it
 * to an instant with less tracked memory: another process may still map memory that is freed here
 * (NCCL's peers), and its owner is only known while it belongs to this process. */
static void apply_measurement(struct mpr_replay *r, unsigned device, uint64_t used)
{
    const int64_t large = INT64_C(256) << 20;
    struct mpr_gpu_device *d = &r->gpu.device[device];
    mpr_gpu_take_snapshots(r);
    const int64_t difference =
        d->used == MPF_UNKNOWN ? 0 : mpr_signed_difference(mpr_gpu_used(r, device), used);
    /* For a large allocation the driver needs longer than the time between two measurements, so
     * several residuals may belong to one. */
    const bool goes_on = r->now - d->residual_time <= MPR_IN_FLIGHT_NS && d->residual >= large;
    if (!goes_on || difference) {
        d->residual = goes_on ? mpr_signed_add(d->residual, difference) : difference;
        d->residual_time = r->now;
    }
    d->used = used;
    d->tracked_at_used = mpr_gpu_tracked(r, device);
    mpr_gpu_note_peak(r, device, true);
}

/* ---- growth around calls */

/* Returns the part of the hidden bytes that this call makes larger. */
static int part_of_call(struct mpr_gpu_device *d, uint64_t call)
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

static void on_enter(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
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

static void on_return(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    const uint64_t call = mpr_gpu_word(e, MPF_RETURN_CALL), context = mpr_gpu_word(e, MPF_RETURN_A);
    const unsigned device = mpf_heap_device(e->heap);
    mpr_gpu_take_snapshots(r);
    if (call == MPF_CALL_CONTEXT_GONE && context) mpr_gpu_free_context(r, context);
    const bool known = t->gpu.entered && e->addr != MPF_UNKNOWN && t->gpu.enter.device == device;
    struct mpr_gpu_device *d = &r->gpu.device[device];
    const int64_t kernels = (int64_t)mpr_gpu_word(e, MPF_RETURN_A), /* local memory of kernels */
        growth = call == MPF_CALL_LOCAL ? kernels
                 : known                ? hidden_growth(r, t, e->addr)
                                        : 0;
    int64_t local = 0; /* the part of a launch's growth that is memory for local variables */
    if (call == MPF_CALL_LAUNCH && growth > 0 && kernels > 0)
        local = kernels < growth ? kernels : growth;
    t->gpu.entered = false;
    int64_t *part = &d->part[part_of_call(d, call)];
    *part = mpr_signed_add(*part, mpr_signed_sub(growth, local));
    d->part[MPR_PART_LOCAL] = mpr_signed_add(d->part[MPR_PART_LOCAL], local);
    if (e->addr != MPF_UNKNOWN) apply_measurement(r, device, e->addr);
    if (mpr_gpu_word(e, MPF_RETURN_RESULT) == 0 || call != MPF_CALL_GRAPH)
        mpr_graph_call(r, t, e, growth);
}

/* ---- the process's own bytes */

static int64_t sum_parts(const int64_t *part)
{
    int64_t sum = 0;
    for (int i = 0; i < MPR_PARTS; i++) sum = mpr_signed_add(sum, part[i]);
    return sum;
}

/* Used bytes are those of all processes, so growth around a call may belong to another one.  This
 * process has at most its measured bytes and the growth since that measurement. */
bool mpr_gpu_limit_parts(const struct mpr_gpu_device *d, int64_t *part)
{
    /* Own and used bytes are read one after the other and differ by some MiB. */
    const int64_t slack = INT64_C(16) << 20;
    const int64_t sum = sum_parts(part), later = mpr_signed_sub(sum, d->parts_at_sample),
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

/* A sample may have the bytes of an allocation before its event, and may lack those of a block that
 * is being freed.  It is exact if no other followed for a while; otherwise the median of three
 * samples has neither error.  Samples omit some MiB of the process, so a small difference from the
 * growth around its calls does not count. */
uint64_t mpr_gpu_own(const struct mpr_replay *r, unsigned device)
{
    const int64_t slack = INT64_C(16) << 20;
    const struct mpr_gpu_device *d = &r->gpu.device[device];
    const uint64_t tracked = mpr_gpu_tracked(r, device);
    const bool quiet = d->own_known && r->now - d->own_time > MPR_IN_FLIGHT_NS;
    int64_t part[MPR_PARTS], sampled;
    memcpy(part, d->part, sizeof part);
    mpr_gpu_limit_parts(d, part);
    int64_t hidden = sum_parts(part);
    if (quiet) sampled = mpr_signed_difference(tracked, d->own);
    else {
        const int64_t a = d->own_recent[0], b = d->own_recent[1], c = d->own_recent[2],
                      low = a < b ? a : b, high = a < b ? b : a,
                      median = c < low    ? low
                               : c > high ? high
                                          : c,
                      later = mpr_signed_sub(sum_parts(d->part), d->parts_at_sample);
        sampled = mpr_signed_add(median, later > 0 ? later : 0);
    }
    const bool known = quiet || d->own_samples >= MPR_OWN_SAMPLES;
    if (known && (hidden > sampled + slack || (quiet && hidden < sampled - slack)))
        hidden = sampled;
    return tracked + (hidden > 0 ? (uint64_t)hidden : 0);
}

/* Applies a measurement by NVML. */
static void on_sample(struct mpr_replay *r, const struct mpf_event *e)
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
        d->parts_at_sample = sum_parts(d->part);
        d->others = mpr_saturating_sub(used, own);
    }
    mpr_pools_limit(r, device, used);
    apply_measurement(r, device, used);
}

/* ---- out-of-memory events
 *
 * A refusal of the driver counts as hard until the thread gets what it asked for. PyTorch empties
 * its cache and asks again, and reports when it gives up. */

static struct mpr_oom *new_oom(struct mpr_replay *r, struct mpr_thread *t,
                               const struct mpf_event *e)
{
    struct mpr_gpu *g = &r->gpu;
    struct mpr_oom *o = MPR_ADD(g->oom, g->ooms, g->oom_cap);
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
    t->gpu.oom_is_old = false;
    return o;
}

/* Begins the snapshot of a failure, again at each attempt.  If there are too many snapshots, that
 * of the oldest failure is freed, preferably of one that the program recovered from. */
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

/* When PyTorch tries again after it has emptied its cache, and has not allocated anything else,
 * that belongs to the same failure. */
static void on_refusal(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
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
    if (!o || t->gpu.oom_is_old || o->bytes != e->addr || o->heap != e->heap) o = new_oom(r, t, e);
    const uint64_t before = o->attempts ? o->free : mpr_gpu_word(e, MPF_FAIL_FREE);
    o->attempts++;
    o->free = mpr_gpu_word(e, MPF_FAIL_FREE);
    o->total = mpr_gpu_word(e, MPF_FAIL_TOTAL);
    o->capturing = mpr_gpu_word(e, MPF_FAIL_CAPTURING) == 1;
    if (o->free != MPF_UNKNOWN && o->free > before && o->free - before > o->flushed)
        o->flushed = o->free - before;
    const unsigned device = mpf_heap_device(e->heap);
    struct mpr_gpu_device *d = &r->gpu.device[device];
    const bool is_known = o->total != MPF_UNKNOWN && o->free <= o->total;
    if (mpf_heap_is_gpu(e->heap) && is_known && d->used != MPF_UNKNOWN) {
        /* The driver's number is newer than the last sample.  If they differ, the process to which
         * the difference belongs is not known.  Without a sample the number is ignored, because an
         * earlier instant has none. */
        const int64_t slack = INT64_C(64) << 20;
        const int64_t change = mpr_signed_difference(mpr_gpu_used(r, device), o->total - o->free);
        if (change > slack || change < -slack) d->others = MPF_UNKNOWN;
        apply_measurement(r, device, o->total - o->free);
    }
    take_snapshot(r, o);
}

/* If the driver refused memory, its event precedes this one, with the size that PyTorch rounded up.
 */
static void on_torch_oom(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    struct mpr_oom *o = t->gpu.oom ? &r->gpu.oom[t->gpu.oom - 1] : new_oom(r, t, e);
    o->torch = o->hard = true;
    o->torch_reserved = mpr_gpu_word(e, MPF_TORCH_RESERVED);
    if (!o->attempts) take_snapshot(r, o);
    o->time = e->time;
    t->gpu.torch_oom = (uint32_t)(o - r->gpu.oom) + 1;
    t->gpu.oom = 0;
}

void mpr_oom_recover(struct mpr_replay *r, struct mpr_thread *t, const struct mpr_gpu_block *b,
                     bool torch)
{
    if (!t->gpu.oom) return;
    struct mpr_oom *o = &r->gpu.oom[t->gpu.oom - 1];
    t->gpu.oom_is_old = true;
    if (o->torch ? !torch : b->size < o->bytes) return;
    o->hard = false;
    t->gpu.oom = 0;
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

/* ---- dispatch */

/* The operations from MODULE on define call stacks.  They leave the call stack of the thread's next
 * event in place. */
static_assert(MPF_OP_CAPTURE_END < MPF_OP_MODULE, "operations on memory have the lower codes");

void mpr_gpu_event(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e)
{
    struct mpr_gpu_device *d = &r->gpu.device[mpf_heap_device(e->heap)];
    if (r->gpu.windows) mpr_gpu_close_windows(r);
    if (r->gpu.instants && e->op < MPF_OP_MODULE)
        mpr_device_snapshots_before_event(r->gpu.instants, r);
    switch (e->op) {
    case MPF_OP_ALLOC: mpr_gpu_alloc(r, t, e); break;
    case MPF_OP_FREE: mpr_gpu_torch_free(r, e); break;
    case MPF_OP_MOVE_BEGIN: mpr_gpu_free_begin(r, t, e); break;
    case MPF_OP_MOVE_END: mpr_gpu_free_end(r, t); break;
    case MPF_OP_FAIL: mpr_gpu_free_failed(r, t); break;
    case MPF_OP_GPU_DEVICE: on_device(r, e); break;
    case MPF_OP_GPU_CONTEXT: t->gpu.context = e->addr; break;
    case MPF_OP_GPU_ENTER: on_enter(r, t, e); break;
    case MPF_OP_GPU_RETURN: on_return(r, t, e); break;
    case MPF_OP_GPU_FAIL: on_refusal(r, t, e); break;
    case MPF_OP_GPU_LEVEL: mpr_pool_level(r, t, e); break;
    case MPF_OP_SAMPLE_GPU: on_sample(r, e); break;
    case MPF_OP_HANDLE_NEW ... MPF_OP_HANDLE_UNMAP: mpr_handle_event(r, t, e); break;
    case MPF_OP_TORCH_LEVEL:
        d->torch_reserved = e->addr;
        if (e->addr > d->torch_reserved_peak) d->torch_reserved_peak = e->addr;
        break;
    case MPF_OP_TORCH_OOM: on_torch_oom(r, t, e); break;
    case MPF_OP_TORCH_CAPTURE ... MPF_OP_CAPTURE_END: mpr_graph_event(r, t, e); break;
    case MPF_OP_TORCH_NEXT:
        if (mpr_backward_is_known(r)) mpr_forward_next(r, t, e);
        break;
    case MPF_OP_TORCH_NODE:
        if (mpr_backward_is_known(r)) mpr_backward_node(r, t, e);
        break;
    case MPF_OP_SCHEMA: mpr_comms_schema(&r->gpu.comms, e); break;
    case MPF_OP_MODULE:
    case MPF_OP_STACK_CUT:
    case MPF_OP_STACK:
    case MPF_OP_FRAME:
    case MPF_OP_PYTHON: mpr_sites_event(&r->sites, &r->ranges, e); break;
    default: break;
    }
    if (e->op < MPF_OP_MODULE && e->op != MPF_OP_GPU_CONTEXT) t->at = (struct mpr_site){ 0, 0 };
}
