/* At each tick a sample of resident memory is completed with the live bytes of that time.  A sample
 * counts once it is a second old, because the program may be about to exit. */
#include "retained.h"

#include <string.h>

#include "mpf/event.h"
#include "mpf/sample.h"
#include "replay.h"

enum { SECOND_NS = 1000000000 };

static uint64_t known(uint64_t value) { return value == MPF_UNKNOWN ? 0 : value; }

/* Returns the bytes that host/heap fell by since the newest sample. */
static uint64_t freed_since_sample(const struct mpr_retained_samples *s, const struct mpr_replay *r)
{
    return mpr_saturating_sub(s->newest_sample.heap, r->accounts.heap[MPF_HEAP_HOST].bytes);
}

static struct mpr_retained sampled(const struct mpr_retained_samples *s, const struct mpr_replay *r)
{
    const uint64_t *value = r->samples.source[MPR_SOURCE_RSS].now.value;
    const struct mpr_heap *heap = &r->accounts.heap[MPF_HEAP_HOST],
                          *mappings = &r->accounts.heap[MPF_HEAP_MMAP];
    return (struct mpr_retained){ .time = r->now,
                                  .anonymous = known(value[MPF_RSS_ANON]),
                                  .live = heap->bytes + mappings->bytes,
                                  .memprof = known(value[MPF_RSS_MEMPROF]),
                                  .fallen = mpr_saturating_sub(heap->peak_bytes, heap->bytes),
                                  .kept_at_most =
                                      s->newest_sample.kept_at_most + freed_since_sample(s, r) };
}

static void look_at_peak(struct mpr_retained_samples *s, const struct mpr_replay *r)
{
    const uint64_t peak = r->accounts.heap[MPF_HEAP_HOST].peak_bytes;
    if (s->peak == peak) return;
    s->taken = 0;
    memset(s->newest, 0, sizeof s->newest);
    s->largest = s->lowest = (struct mpr_retained){ 0 };
    s->peak = s->newest_sample.heap = peak;
    s->newest_sample.kept_at_most = 0;
}

/* Keeps the largest and the lowest sample among those that are at least `lasting` old. */
static void count_lasting(struct mpr_retained_samples *s, uint64_t time, uint64_t lasting)
{
    struct mpr_retained *most = &s->largest;
    for (size_t i = 0; i < MPR_RETAINED_NEWEST; i++) {
        struct mpr_retained *at = &s->newest[i];
        if (!at->time || mpr_saturating_sub(time, at->time) < lasting) continue;
        at->others = s->others;
        if (at->fallen >= s->lowest.fallen) s->lowest = *at;
        if (mpr_retained_bytes(at) > mpr_retained_bytes(most)) *most = *at;
        at->time = 0;
    }
}

/* A log has a sample of the kernel's figures only if they changed.  So the older sample is valid
 * between two samples, and this adds the live bytes of that time. */
static void tick(void *arg, const struct mpr_replay *r, uint64_t time)
{
    struct mpr_retained_samples *s = arg;
    look_at_peak(s, r);
    count_lasting(s, time, SECOND_NS);
    s->newest[s->taken++ % MPR_RETAINED_NEWEST] = sampled(s, r);
}

/* Memory of earlier ticks may have been returned since then. */
static void see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                const struct mpf_event *e)
{
    struct mpr_retained_samples *s = arg;
    const struct mpr_heap *heap = &r->accounts.heap[MPF_HEAP_HOST];
    (void)t;
    if (e->op != MPF_OP_SAMPLE_RSS) return;
    look_at_peak(s, r);
    struct mpr_retained now = sampled(s, r);
    if (now.fallen <= heap->peak_bytes / 8) s->others = mpr_retained_unowned(&now);
    now.others = s->others;
    s->newest_sample.kept_at_most = mpr_kept_at_most(
        s->newest_sample.kept_at_most, freed_since_sample(s, r), mpr_retained_unowned(&now));
    s->newest_sample.heap = heap->bytes;
    for (size_t i = 0; i < MPR_RETAINED_NEWEST; i++)
        if (mpr_saturating_sub(r->now, s->newest[i].time) < 2 * MPR_RETAINED_TICK_NS &&
            now.anonymous < s->newest[i].anonymous)
            s->newest[i].anonymous = now.anonymous;
}

const struct mpr_row *mpr_retained_owner(const struct mpr_retained *r,
                                         const struct mpr_heap_peak *heap)
{
    const struct mpr_row *row = heap->rows ? &heap->row[0] : NULL;
    return row && row->path.depth && row->bytes >= heap->peak_bytes / 2 &&
                   mpr_saturating_sub(row->bytes, r->live) >= mpr_retained_bytes(r) / 2
               ? row
               : NULL;
}

void mpr_retained_watch(struct mpr_retained_samples *s, struct mpr_replay *replay)
{
    mpr_watch_begin(replay, (struct mpr_watch){ see, s });
    mpr_clock_begin(replay,
                    &(struct mpr_clock){ .tick = tick, .arg = s, .every = MPR_RETAINED_TICK_NS });
}

void mpr_retained_end(struct mpr_retained_samples *s, uint64_t end, bool was_killed)
{
    count_lasting(s, end, was_killed ? 0 : SECOND_NS);
}
