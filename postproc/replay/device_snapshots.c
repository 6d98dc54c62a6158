/* Invariant: `removed` has every block that a kept instant saw and that was removed since, in order
 * of removal; `removals` of an instant is how many had been removed before it. */
#include "device_snapshots.h"

#include <stdlib.h>

#include "alloc.h"
#include "bisect.h"
#include "gpu.h"

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

/* ---- removed blocks */

/* Blocks that were removed between two instants are the same to both, so one entry for each is
 * enough. */
void mpr_device_snapshots_keep(struct mpr_device_snapshots *in, const struct mpr_gpu_block *b)
{
    if (!in->count || b->birth > in->at[in->count - 1].births) return;
    if (in->removals == in->removal_cap) {
        const size_t newest = in->at[in->count - 1].removals;
        in->removals =
            newest + mpr_device_snapshot_unique(in->removed + newest, in->removals - newest);
        if (in->removals >= in->removal_cap / 2)
            in->removed = mpr_grow(in->removed, &in->removal_cap, SIZE_MAX, sizeof *in->removed);
    }
    in->removed[in->removals++] = *b;
}

/* Returns the index of the first instant that saw the block. */
static size_t first_to_see(const struct mpr_device_snapshots *in, uint64_t birth)
{
    return MPR_COUNT_FIRST(i, in->count, in->at[i].births < birth);
}

/* Drops the blocks that no kept instant has seen. */
static void drop_unseen(struct mpr_device_snapshots *in)
{
    size_t kept = 0, next = 0;
    for (size_t i = 0; i < in->removals; i++) {
        for (; next < in->count && in->at[next].removals <= i; next++) in->at[next].removals = kept;
        if (first_to_see(in, in->removed[i].birth) < next) in->removed[kept++] = in->removed[i];
    }
    for (; next < in->count; next++) in->at[next].removals = kept;
    in->removals = kept;
}

/* ---- instants */

static bool stays(const struct instant *i) { return i->requested || i->peaks; }

/* Keeps at most half of the instants that do not stay, at least as far apart as evenly spread ones.
 * Where little happens there are few of them, so they are dropped where there are many. */
static void thin_out(struct mpr_device_snapshots *in)
{
    const uint64_t even = (in->at[in->count - 1].time - in->at[0].time) / (in->limit / 2) + 1;
    size_t kept = 1;
    in->distance = even > 2 * in->distance ? even : 2 * in->distance;
    for (size_t i = 1; i < in->count; i++)
        if (stays(&in->at[i]) || in->at[i].time - in->at[kept - 1].time >= in->distance)
            in->at[kept++] = in->at[i];
    in->count = kept;
    drop_unseen(in);
}

static struct instant *take(struct mpr_device_snapshots *in, const struct mpr_replay *r,
                            uint64_t time)
{
    struct instant *i = &in->at[in->count++];
    *i = (struct instant){
        .since = in->changed, .time = time, .births = r->gpu.births, .removals = in->removals
    };
    for (unsigned d = 0; d < MPF_GPUS; d++)
        if (mpr_gpu_is_there(r, d)) mpr_device_snapshot_begin(&i->device[d], r, d, time);
    return i;
}

/* Returns true if the devices' state at that time is unambiguous: something changed before it, and
 * nothing changes at it. */
static bool is_settled(const struct mpr_device_snapshots *in, uint64_t time)
{
    return in->used && time > in->changed && time >= in->from && time <= in->to;
}

static bool is_due(const struct mpr_device_snapshots *in, uint64_t time)
{
    return !in->count || time - in->at[in->count - 1].time >= in->distance;
}

/* Returns a bit for each device of which PyTorch holds more than ever. */
static uint32_t new_peaks(struct mpr_device_snapshots *in, const struct mpr_replay *r)
{
    uint32_t peaks = 0;
    for (unsigned d = 0; d < MPF_GPUS; d++) {
        const uint64_t bytes = r->accounts.heap[mpf_heap_gpu(MPF_HEAP_TORCH, d)].bytes;
        if (bytes <= in->torch[d]) continue;
        in->torch[d] = bytes;
        peaks |= UINT32_C(1) << d;
    }
    return peaks;
}

/* The peaks so far are superseded. The newest instant is dropped if that was its only purpose, so
 * that a device that fills up has one instant and not very many; with it the blocks that it alone
 * has seen. */
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
    const uint32_t peaks = new_peaks(in, r);
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

/* ---- results */

size_t mpr_device_snapshots_count(const struct mpr_device_snapshots *in) { return in->count; }

bool mpr_device_snapshots_is_kept(const struct mpr_device_snapshots *in, size_t index)
{
    return stays(&in->at[index]);
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
    for (size_t i = in->at[index].removals; i < in->removals; i++)
        mpr_device_snapshot_keep(&p, &in->removed[i]);
    mpr_device_snapshot_finish(&p, r);
    return p;
}
