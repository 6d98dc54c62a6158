/* Snapshots of devices: at the peak of each device, of each window, and of the selected instant, at
 * failures (gpu.c), and at instants that are spread over the run.
 *
 * A snapshot is begun at its instant and gathered at the end: from the blocks that were made before
 * it and are still live, and from copies of those that were removed since. So an event costs the
 * same however often there is a new peak.
 *
 * Invariants: while the snapshot of a best instant is due, the live blocks have only grown since.
 * `removed` of the spread instants has every block that a kept instant saw and that was removed
 * since, in order of removal; `removals` of an instant is how many had been removed before it. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "bisect.h"
#include "gpu.h"

/* ---- begin */

void mpr_device_snapshot_begin(struct mpr_device_snapshot *p, const struct mpr_replay *r,
                               unsigned device, uint64_t time)
{
    enum { POOLS = 64 }; /* programs have fewer; further pools in a log are ignored */
    const struct mpr_gpu *g = &r->gpu;
    const struct mpr_gpu_device *d = &g->device[device];
    struct mpr_gpu_block *const removed = p->removed;
    const size_t removal_cap = p->removal_cap;
    *p = (struct mpr_device_snapshot){
        .valid = true,
        .open = true,
        .device = device,
        .births = g->births,
        .mappings = g->mappings,
        .time = time,
        .others = d->others,
        .file_cache = d->file_cache,
        .total = d->total,
        .tracked = mpr_gpu_tracked(r, device),
        .managed = r->accounts.heap[mpf_heap_gpu(MPF_HEAP_MANAGED, device)].bytes,
        .pools = g->pool_bytes[device],
        .graph_memory = g->graph_bytes[device],
        .removed = removed,
        .removal_cap = removal_cap
    };
    p->used = mpr_gpu_device_used(d, p->tracked);
    memcpy(p->part, d->part, sizeof p->part);
    p->parts_cut = mpr_gpu_limit_parts(d, p->part);
    for (uint32_t i = 0; i < g->pools && i < POOLS; i++) {
        const struct mpr_pool *pool = &g->pool[i];
        if (!pool->id || !pool->bytes || !pool->library) continue;
        if (mpf_heap_device(pool->heap) != device) continue;
        unsigned known = 0;
        while (known < p->pool_users && p->pool_user[known] != pool->library) known++;
        if (known == p->pool_users && known < MPR_POOL_USERS)
            p->pool_user[p->pool_users++] = pool->library;
    }
}

void mpr_device_snapshot_free(struct mpr_device_snapshot *p)
{
    free(p->driver);
    free(p->torch);
    free(p->removed);
    *p = (struct mpr_device_snapshot){ 0 };
}

/* ---- removed blocks */

MPR_COMPARE(by_birth, struct mpr_gpu_block,
            mpr_compare(a->birth, b->birth) ?: (a->addr == 0) - (b->addr == 0))

/* Sorts blocks by birth, keeps one entry for each, and returns how many there are. Memory with a
 * handle is removed from each of its addresses, and then itself: the entry with an address is kept.
 */
static size_t keep_unique(struct mpr_gpu_block *removed, size_t count)
{
    size_t kept = 0;
    if (count) qsort(removed, count, sizeof *removed, by_birth);
    for (size_t i = 0; i < count; i++)
        if (!kept || removed[i].birth != removed[kept - 1].birth) removed[kept++] = removed[i];
    return kept;
}

static bool is_in_snapshot(const struct mpr_device_snapshot *p, const struct mpr_gpu_block *b)
{
    return b->birth <= p->births && mpf_heap_is_gpu(b->heap) &&
           mpf_heap_device(b->heap) == p->device;
}

static void keep_copy(struct mpr_device_snapshot *p, const struct mpr_gpu_block *b)
{
    if (!p->open || !is_in_snapshot(p, b)) return;
    if (p->removals == p->removal_cap) {
        p->removals = keep_unique(p->removed, p->removals);
        if (p->removals >= p->removal_cap / 2)
            p->removed = mpr_grow(p->removed, &p->removal_cap, SIZE_MAX, sizeof *p->removed);
    }
    p->removed[p->removals++] = *b;
}

/* ---- sleep mode: an allocator that is plugged into PyTorch (vLLM's sleep mode,
 * torch_memory_saver) unmaps the memory of live blocks, keeps the addresses, and maps other memory
 * there later. PyTorch still counts these blocks; the device does not.
 *
 * Only unmapped addresses count as asleep. If the segment of a block is missing without an
 * unmapping, its allocation was not recorded. */

/* An address range without memory. */
struct gap {
    uint64_t from, to;
    uint64_t before; /* bytes of the gaps at lower addresses */
};

struct gaps {
    struct gap *at;
    size_t count, cap;
};

static void add_gap(struct gaps *g, uint64_t from, uint64_t to)
{
    if (from >= to) return;
    MPR_GROW(g->at, g->count, g->cap);
    const struct gap *last = g->count ? &g->at[g->count - 1] : NULL;
    g->at[g->count++] = (struct gap){ from, to, last ? last->before + (last->to - last->from) : 0 };
}

static uint64_t end_of(const struct mpr_gpu_block *b) { return mpr_interval_end(b->addr, b->size); }

/* Returns the bytes of gaps at addresses below this one. */
static uint64_t gap_bytes(const struct gaps *g, uint64_t address)
{
    const size_t low = MPR_COUNT_FIRST(i, g->count, g->at[i].from < address);
    const struct gap *last = low ? &g->at[low - 1] : NULL;
    if (!last) return 0;
    return last->before + ((address < last->to ? address : last->to) - last->from);
}

/* Sets the bytes of blocks that are asleep: they were unmapped, and no block of the driver is
 * there.  The snapshot's blocks are sorted. */
static void set_asleep(struct mpr_device_snapshot *p, const struct mpr_intervals *ever)
{
    const struct mpr_interval *span;
    struct gaps g = { 0 };
    uint64_t covered = 0; /* end of the blocks before `next` */
    size_t next = 0;
    MPR_INTERVALS_EACH(span, ever, ((struct mpr_position){ 0, 0 }), UINT64_MAX)
    {
        for (; next < p->drivers && p->driver[next].addr < span->end; next++) {
            const struct mpr_gpu_block *b = &p->driver[next];
            add_gap(&g, covered > span->start ? covered : span->start, b->addr);
            if (end_of(b) > covered) covered = end_of(b);
        }
        add_gap(&g, covered > span->start ? covered : span->start, span->end);
    }
    for (size_t i = 0; i < p->torches; i++) {
        struct mpr_gpu_block *b = &p->torch[i];
        b->asleep = gap_bytes(&g, end_of(b)) - gap_bytes(&g, b->addr);
    }
    free(g.at);
}

/* Adjacent ranges are joined. */
void mpr_device_snapshot_unmapped(struct mpr_intervals *ever, uint64_t from, uint64_t to)
{
    const struct mpr_position first = mpr_intervals_after(ever, from ? from - 1 : 0);
    struct mpr_interval joined = { from, to, 0, false };
    const struct mpr_interval *span;
    size_t count = 0;
    for (struct mpr_position place = first;
         (span = mpr_intervals_at(ever, place)) && span->start <= to;
         place = mpr_intervals_next(ever, place)) {
        if (span->start < joined.start) joined.start = span->start;
        if (span->end > joined.end) joined.end = span->end;
        count++;
    }
    mpr_intervals_remove(ever, first, count);
    mpr_intervals_insert(ever, &joined);
}

/* ---- gathering */

static void put(struct mpr_device_snapshot *p, const struct mpr_gpu_block *b)
{
    if (!is_in_snapshot(p, b)) return;
    if (mpf_heap_code(b->heap) == MPF_HEAP_TORCH) p->torch[p->torches++] = *b;
    else p->driver[p->drivers++] = *b;
}

/* Returns the block that the driver is freeing on the thread, or NULL. It is in no table, and
 * counts until the driver returns. */
static const struct mpr_gpu_block *being_freed(const struct mpr_thread *t)
{
    return t && t->gpu.freeing && t->gpu.freed.addr ? &t->gpu.freed : NULL;
}

static void finish(struct mpr_device_snapshot *p, const struct mpr_replay *r)
{
    const struct mpr_gpu *g = &r->gpu;
    const struct mpr_gpu_block *freed;
    size_t freeing = 0;
    if (!p->open) return;
    p->open = false;
    for (uint32_t i = 0; i < r->threads.count; i++)
        freeing += being_freed(r->threads.at[i]) != NULL;
    p->driver = mpr_alloc(g->driver.live + g->objects + freeing + p->removals, sizeof *p->driver);
    p->torch = mpr_alloc(g->torch.live + p->removals, sizeof *p->torch);
    p->removals = keep_unique(p->removed, p->removals);
    for (size_t i = 0; i < p->removals; i++) put(p, &p->removed[i]);
    for (size_t i = 0; i < g->driver.live; i++) put(p, &g->driver.at[i]);
    for (size_t i = 0; i < g->torch.live; i++) put(p, &g->torch.at[i]);
    for (uint32_t i = 0; i < g->objects; i++) {
        const struct mpr_handle_object *o = &g->object[i];
        const uint64_t birth = o->block.birth;
        if (!o->live || o->imported) continue;
        /* It may have been removed from an address and live on without one. */
        const size_t low = MPR_COUNT_FIRST(k, p->removals, p->removed[k].birth < birth);
        if (low == p->removals || p->removed[low].birth != birth) put(p, &o->block);
    }
    for (uint32_t i = 0; i < r->threads.count; i++)
        if ((freed = being_freed(r->threads.at[i]))) put(p, freed);
    qsort(p->driver, p->drivers, sizeof *p->driver, mpr_gpu_block_by_address);
    qsort(p->torch, p->torches, sizeof *p->torch, mpr_gpu_block_by_address);
    set_asleep(p, &g->unmapped);
    free(p->removed);
    p->removed = NULL;
}

void mpr_device_snapshot_take(struct mpr_device_snapshot *p, const struct mpr_replay *r,
                              unsigned device, uint64_t time)
{
    mpr_device_snapshot_begin(p, r, device, time);
    finish(p, r);
}

/* ---- the best instants of devices and windows */

/* Replaces the best instant if the devices' state is better.  @time: ns, for which the current
 * state counts */
static void raise_best(const struct mpr_replay *r, unsigned device, struct mpr_best_instant *best,
                       bool measured, uint64_t time)
{
    const uint64_t used = mpr_gpu_used(r, device), tracked = mpr_gpu_tracked(r, device),
                   torch = r->accounts.heap[mpf_heap_gpu(MPF_HEAP_TORCH, device)].bytes;
    const uint64_t slack = measured && tracked < best->tracked ? best->used / 32 : 0;
    if (used < best->used + slack || (used == best->used && torch <= best->torch)) return;
    *best = (struct mpr_best_instant){ used, torch, tracked, time, true };
}

static void begin_if_due(const struct mpr_replay *r, unsigned device, struct mpr_best_instant *best,
                         struct mpr_device_snapshot *snapshot)
{
    if (!best->snapshot_due) return;
    best->snapshot_due = false;
    mpr_device_snapshot_begin(snapshot, r, device, best->time);
}

static bool is_open(const struct mpr_replay *r, const struct mpr_peak_window *w)
{
    return r->now >= w->from && r->now <= w->to;
}

void mpr_gpu_note_peak(struct mpr_replay *r, unsigned device, bool measured)
{
    if (!r->instant_is_over) raise_best(r, device, &r->gpu.device[device].best, measured, r->now);
    for (size_t i = 0; i < r->gpu.windows; i++) {
        struct mpr_peak_window *w = &r->gpu.window[i];
        if (w->device == device && is_open(r, w)) raise_best(r, device, &w->best, measured, r->now);
    }
}

void mpr_gpu_take_snapshots(struct mpr_replay *r)
{
    for (unsigned i = 0; i < MPF_GPUS && !r->instant_is_over; i++)
        begin_if_due(r, i, &r->gpu.device[i].best, &r->gpu.device[i].peak);
    for (size_t i = 0; i < r->gpu.windows; i++) {
        struct mpr_peak_window *w = &r->gpu.window[i];
        /* The state at the begin of the window counts as well. */
        if (is_open(r, w) && !w->best.time) raise_best(r, w->device, &w->best, false, r->now);
        begin_if_due(r, w->device, &w->best, &w->peak);
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
        begin_if_due(r, w->device, &w->best, &w->peak);
    }
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
    for (unsigned i = 0; i < MPF_GPUS; i++) finish(&g->device[i].peak, r);
    for (uint32_t i = 0; i < g->snapshots; i++) finish(&g->oom[g->with_snapshot[i]].snapshot, r);
    for (size_t i = 0; i < g->windows; i++) finish(&g->window[i].peak, r);
}

/* ---- instants that are spread over the run */

struct instant {
    uint64_t since, time, births;
    size_t removals;
    bool requested;
    uint32_t peaks; /* a bit for each device of which PyTorch holds most at this instant */
    struct mpr_device_snapshot device[MPF_GPUS]; /* begun, not finished */
};

struct mpr_device_snapshots {
    size_t limit, count;
    size_t requested;                     /* instants of these that were requested */
    uint64_t from, to, distance, changed; /* ns; changed: newest event of a device */
    bool used, request_pending;           /* used: there was an event of a device */
    uint64_t torch[MPF_GPUS];             /* maximum bytes that PyTorch held */
    struct instant *at;
    struct mpr_gpu_block *removed;
    size_t removals, removal_cap;
};

struct mpr_device_snapshots *mpr_device_snapshots_new(size_t limit, uint64_t from, uint64_t to)
{
    struct mpr_device_snapshots *in = mpr_alloc(1, sizeof *in);
    *in = (struct mpr_device_snapshots){ .limit = limit, .from = from, .to = to, .distance = 1 };
    in->at = mpr_alloc(limit + 1 + MPF_GPUS, sizeof *in->at);
    return in;
}

void mpr_device_snapshots_free(struct mpr_device_snapshots *in)
{
    if (!in) return;
    free(in->at);
    free(in->removed);
    free(in);
}

/* One copy of a block is enough for all instants before its removal. */
static void keep_for_all(struct mpr_device_snapshots *in, const struct mpr_gpu_block *b)
{
    if (!in->count || b->birth > in->at[in->count - 1].births) return;
    if (in->removals == in->removal_cap) {
        const size_t newest = in->at[in->count - 1].removals;
        in->removals = newest + keep_unique(in->removed + newest, in->removals - newest);
        if (in->removals >= in->removal_cap / 2)
            in->removed = mpr_grow(in->removed, &in->removal_cap, SIZE_MAX, sizeof *in->removed);
    }
    in->removed[in->removals++] = *b;
}

void mpr_gpu_removed(struct mpr_replay *r, const struct mpr_gpu_block *b)
{
    if (!mpf_heap_is_gpu(b->heap)) return;
    struct mpr_gpu *g = &r->gpu;
    keep_copy(&g->device[mpf_heap_device(b->heap)].peak, b);
    for (uint32_t i = 0; i < g->snapshots; i++) keep_copy(&g->oom[g->with_snapshot[i]].snapshot, b);
    for (size_t i = 0; i < g->windows; i++) keep_copy(&g->window[i].peak, b);
    if (g->instants) keep_for_all(g->instants, b);
}

static bool must_stay(const struct instant *i) { return i->requested || i->peaks; }

/* Drops at least half of the instants that may be dropped: those that are closer to the previous
 * one than evenly spread ones would be, so from parts of the run in which much happens.  Then
 * drops the removed blocks that were live at no instant that is left. */
static void thin_out(struct mpr_device_snapshots *in)
{
    const uint64_t even = (in->at[in->count - 1].time - in->at[0].time) / (in->limit / 2) + 1;
    size_t kept = 1, next = 0;
    in->distance = even > 2 * in->distance ? even : 2 * in->distance;
    for (size_t i = 1; i < in->count; i++)
        if (must_stay(&in->at[i]) || in->at[i].time - in->at[kept - 1].time >= in->distance)
            in->at[kept++] = in->at[i];
    in->count = kept;
    kept = 0;
    for (size_t i = 0; i < in->removals; i++) {
        const uint64_t birth = in->removed[i].birth;
        for (; next < in->count && in->at[next].removals <= i; next++) in->at[next].removals = kept;
        const size_t first = MPR_COUNT_FIRST(k, in->count, in->at[k].births < birth);
        if (first < next) in->removed[kept++] = in->removed[i];
    }
    for (; next < in->count; next++) in->at[next].removals = kept;
    in->removals = kept;
}

static struct instant *take(struct mpr_device_snapshots *in, const struct mpr_replay *r,
                            uint64_t time)
{
    struct instant *i = &in->at[in->count++];
    *i = (struct instant){
        .since = in->changed, .time = time, .births = r->gpu.births, .removals = in->removals
    };
    for (unsigned d = 0; d < MPF_GPUS; d++)
        if (mpr_gpu_is_known(r, d)) mpr_device_snapshot_begin(&i->device[d], r, d, time);
    return i;
}

/* Returns true if the state at that time is known: the devices changed before it, and not at it. */
static bool is_settled(const struct mpr_device_snapshots *in, uint64_t time)
{
    return in->used && time > in->changed && time >= in->from && time <= in->to;
}

static bool is_due(const struct mpr_device_snapshots *in, uint64_t time)
{
    return !in->count || time - in->at[in->count - 1].time >= in->distance;
}

/* Removes the marks of peaks that are no longer the maximum.  The newest instant is dropped if it
 * was kept only for such a peak, because otherwise a device that fills up would have very many.
 * Removed blocks that were live only at that instant are dropped with it. */
static void supersede_peaks(struct mpr_device_snapshots *in, uint32_t peaks)
{
    const struct instant *newest = in->count > 1 ? &in->at[in->count - 1] : NULL;
    const bool only = newest && newest->peaks && !(newest->peaks & ~peaks) && !newest->requested;
    for (size_t i = 0; i < in->count; i++) in->at[i].peaks &= ~peaks;
    if (!only || newest->time - newest[-1].time >= in->distance) return;
    size_t kept = newest->removals;
    for (size_t i = kept; i < in->removals; i++)
        if (in->removed[i].birth <= newest[-1].births) in->removed[kept++] = in->removed[i];
    in->removals = kept;
    in->count--;
}

static void keep(struct mpr_device_snapshots *in, const struct mpr_replay *r, uint64_t time)
{
    uint32_t peaks = 0; /* a bit for each device of which PyTorch holds more than ever */
    for (unsigned d = 0; d < MPF_GPUS; d++) {
        const uint64_t bytes = r->accounts.heap[mpf_heap_gpu(MPF_HEAP_TORCH, d)].bytes;
        if (bytes <= in->torch[d]) continue;
        in->torch[d] = bytes;
        peaks |= UINT32_C(1) << d;
    }
    const bool requested = in->request_pending && in->requested < in->limit / 4;
    in->request_pending = false;
    if (peaks) supersede_peaks(in, peaks);
    if (!peaks && !requested && !is_due(in, time)) return;
    size_t others = 0;
    for (size_t i = 0; i < in->count; i++) others += !in->at[i].peaks;
    if (others >= in->limit) thin_out(in);
    if (!peaks && !requested && !is_due(in, time)) return;
    struct instant *i = take(in, r, time);
    i->requested = requested;
    i->peaks = peaks;
    in->requested += requested;
}

void mpr_device_snapshots_before_event(struct mpr_device_snapshots *in, const struct mpr_replay *r)
{
    const uint64_t before = r->now ? r->now - 1 : 0;
    if (is_settled(in, before)) keep(in, r, before);
    in->used = true;
    in->changed = r->now;
}

void mpr_device_snapshots_request(struct mpr_device_snapshots *in) { in->request_pending = true; }

void mpr_device_snapshots_finish(struct mpr_device_snapshots *in, const struct mpr_replay *r)
{
    if (is_settled(in, r->now)) take(in, r, r->now);
}

size_t mpr_device_snapshots_count(const struct mpr_device_snapshots *in) { return in->count; }

bool mpr_device_snapshots_is_kept(const struct mpr_device_snapshots *in, size_t index)
{
    return must_stay(&in->at[index]);
}

uint64_t mpr_device_snapshots_since(const struct mpr_device_snapshots *in, size_t index)
{
    return in->at[index].since;
}

struct mpr_device_snapshot mpr_device_snapshots_get(const struct mpr_device_snapshots *in,
                                                    size_t index, unsigned device,
                                                    const struct mpr_replay *r)
{
    struct mpr_device_snapshot p = in->at[index].device[device];
    for (size_t i = in->at[index].removals; i < in->removals; i++) keep_copy(&p, &in->removed[i]);
    finish(&p, r);
    return p;
}
