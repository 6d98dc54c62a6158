#include "retained.h"

#include <string.h>

#include "amount.h"
#include "mpf/event.h"
#include "mpf/sample.h"
#include "replay.h"

enum { SECOND_NS = 1000000000 };

static uint64_t live(const struct mpr_replay *r)
{
    return r->accounts.heap[MPF_HEAP_HOST].bytes + r->accounts.heap[MPF_HEAP_MMAP].bytes;
}

static uint64_t known(uint64_t value) { return value == MPF_UNKNOWN ? 0 : value; }

/* Returns the bytes that host/heap fell by since the newest sample. */
static uint64_t freed_since_sample(const struct mpr_retained_samples *s, const struct mpr_replay *r)
{
    return mpr_saturating_sub(s->newest_sample.heap, r->accounts.heap[MPF_HEAP_HOST].bytes);
}

static struct mpr_retained sampled(const struct mpr_retained_samples *s, const struct mpr_replay *r)
{
    const uint64_t *value = r->samples.source[MPR_SOURCE_RSS].now.value;
    const struct mpr_heap *heap = &r->accounts.heap[MPF_HEAP_HOST];
    return (struct mpr_retained){ .time = r->now,
                                  .anonymous = known(value[MPF_RSS_ANON]),
                                  .live = live(r),
                                  .memprof = known(value[MPF_RSS_MEMPROF]),
                                  .fallen = mpr_saturating_sub(heap->peak_bytes, heap->bytes),
                                  .kept_at_most =
                                      s->newest_sample.kept_at_most + freed_since_sample(s, r) };
}

static void forget_newest(struct mpr_retained_samples *s)
{
    s->taken = 0;
    memset(s->newest, 0, sizeof s->newest);
    s->largest = (struct mpr_retained){ 0 };
}

static void look_at_peak(struct mpr_retained_samples *s, const struct mpr_replay *r)
{
    const uint64_t peak = r->accounts.heap[MPF_HEAP_HOST].peak_bytes;
    if (s->peak == peak) return;
    forget_newest(s);
    s->peak = s->newest_sample.heap = peak;
    s->newest_sample.kept_at_most = 0;
}

static void limit_kept(struct mpr_retained_samples *s, const struct mpr_replay *r,
                       struct mpr_retained now)
{
    now.others = s->others;
    s->newest_sample.kept_at_most = mpr_kept_at_most(
        s->newest_sample.kept_at_most, freed_since_sample(s, r), mpr_retained_unowned(&now));
    s->newest_sample.heap = r->accounts.heap[MPF_HEAP_HOST].bytes;
}

/* Keeps the largest sample among those that are at least `lasting` old.  A normal exit frees all
 * blocks, so its last second does not count; the last samples of a killed process do. */
static void count_lasting(struct mpr_retained_samples *s, uint64_t time, uint64_t lasting)
{
    struct mpr_retained *most = &s->largest;
    for (size_t i = 0; i < MPR_RETAINED_NEWEST; i++) {
        struct mpr_retained *at = &s->newest[i];
        if (!at->time || mpr_saturating_sub(time, at->time) < lasting) continue;
        at->others = s->others;
        if (mpr_retained_bytes(at) > mpr_retained_bytes(most)) *most = *at;
        at->time = 0;
    }
}

/* A log has a sample of the kernel's figures only if they changed.  So the older sample is valid
 * between two samples, and this adds the live bytes of that time. */
void mpr_retained_tick(struct mpr_retained_samples *s, const struct mpr_replay *r, uint64_t time)
{
    look_at_peak(s, r);
    count_lasting(s, time, SECOND_NS);
    s->newest[s->taken++ % MPR_RETAINED_NEWEST] = sampled(s, r);
}

/* Memory of earlier ticks may have been returned since then. */
void mpr_retained_sample(struct mpr_retained_samples *s, const struct mpr_replay *r)
{
    const struct mpr_heap *heap = &r->accounts.heap[MPF_HEAP_HOST];
    look_at_peak(s, r);
    const struct mpr_retained now = sampled(s, r);
    if (now.fallen <= heap->peak_bytes / 8) s->others = mpr_retained_unowned(&now);
    limit_kept(s, r, now);
    for (size_t i = 0; i < MPR_RETAINED_NEWEST; i++)
        if (mpr_saturating_sub(r->now, s->newest[i].time) < 2 * MPR_RETAINED_TICK_NS &&
            now.anonymous < s->newest[i].anonymous)
            s->newest[i].anonymous = now.anonymous;
}

void mpr_retained_end(struct mpr_retained_samples *s, uint64_t end, bool was_killed)
{
    count_lasting(s, end, was_killed ? 0 : SECOND_NS);
}
