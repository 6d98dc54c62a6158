/* Findings of the instances of a repeated range: an outlier, and memory that each of them keeps. */
#include "amount.h"
#include "evidence.h"

static void stands_out(struct mpr_insights *out, const struct mpr_evidence *e,
                       const struct mpr_steps_heap *h)
{
    const struct mpr_steps *s = e->steps;
    const uint64_t peak = h->heap->of[h->worst_peak].peak_bytes,
                   more = mpr_less(peak, h->median_peak);
    if (!h->peaks_out || !mpr_worth(more, peak)) return;
    const struct mpr_heap_peak *whole = mpr_peaks_heap(e->log, h->heap->heap);
    if (whole && peak < whole->peak_bytes) return; /* less of it would not lower that */
    struct mpr_finding *f = mpr_finding_add(out, MPR_FINDING_INSTANCE, h->heap->heap,
                                            h->heap->of[h->worst_peak].peak_time, more);
    f->what =
        mpr_arena_format(&out->arena, "%s of %s instances peaks at %s of %s, %s above the median",
                         mpr_instances_at_peak(&out->arena, &s->instances, h->heap, h->worst_peak),
                         mpr_finding_number(out, s->instances.count), mpr_finding_size(out, peak),
                         mpr_heap_name(h->heap->heap), mpr_finding_size(out, more));
    f->change = "what this one does and the others do not: a longer sequence, a larger batch, an "
                "evaluation";
    f->look = "steps";
    const struct mpr_row *cause = h == &s->heap[s->shown] ? mpr_steps_cause(s) : NULL;
    if (cause) f->path = cause->path;
    mpr_finding_count(f, "instance", h->heap->of[h->worst_peak].peak_number);
    mpr_finding_count(f, "instances", s->instances.count);
    mpr_finding_bytes(f, "peak_bytes", peak);
    mpr_finding_bytes(f, "median_peak_bytes", h->median_peak);
}

static uint64_t least_end(const struct mpr_instance_heap *of, size_t count)
{
    uint64_t least = of->end_bytes;
    for (size_t i = 1; i < count; i++)
        if (of[i].end_bytes < least) least = of[i].end_bytes;
    return least;
}

/* Returns the even growth in half of the instances: twice the smaller step between the lowest bytes
 * of the second, the third and the last quarter.  Other kept memory was freed between instances,
 * like gradients and parameters that FSDP gathers, or was allocated once, like the optimizer's
 * state. */
static uint64_t risen(const struct mpr_steps *s, const struct mpr_instances_heap *h)
{
    const size_t count = s->instances.instances, quarter = count < 4 ? 1 : count / 4;
    const struct mpr_instance_heap *last = h->of + count - quarter;
    const uint64_t second = least_end(last - count / 2, quarter),
                   third = least_end(last - count / 4, quarter), before = mpr_less(third, second),
                   after = mpr_less(least_end(last, quarter), third);
    return before < after ? 2 * before : 2 * after;
}

/* On a device the instances may be the layers of one pass. */
static bool is_worth_it(const struct mpr_instances_heap *h, uint64_t bytes)
{
    return mpf_heap_is_gpu(h->heap) ? mpr_worth(bytes, h->peak_bytes)
                                    : mpr_worth_growth(bytes, h->peak_bytes);
}

/* Reports the bytes that at least half of the instances keep. */
static void growth(struct mpr_insights *out, const struct mpr_steps *s,
                   const struct mpr_steps_heap *h)
{
    const uint64_t entry = h->median_kept > 0 ? (uint64_t)h->median_kept : 0,
                   kept = entry / s->instances.each, count = s->instances.count;
    uint64_t all;
    if (count < MPR_STEPS_LEAST || __builtin_mul_overflow(kept, count / 2, &all)) return;
    if (risen(s, h->heap) < all) all = risen(s, h->heap);
    if (!is_worth_it(h->heap, all)) return;
    struct mpr_finding *f = mpr_finding_add(out, MPR_FINDING_GROWTH, h->heap->heap,
                                            h->heap->of[s->instances.instances - 1].peak_time, all);
    f->what = mpr_arena_format(&out->arena,
                               "%s instances of %s keep %s of %s each at the median, %s in "
                               "half of them",
                               mpr_finding_number(out, count), s->instances.range,
                               mpr_finding_size(out, kept), mpr_heap_name(h->heap->heap),
                               mpr_finding_size(out, all));
    f->change = "what holds on to it: a list of losses that keeps graphs, a cache without a bound";
    f->look = "leaks";
    mpr_finding_bytes(f, "kept_bytes", kept);
    mpr_finding_count(f, "instances", count);
}

void mpr_insights_steps(struct mpr_insights *out, const struct mpr_evidence *e)
{
    const struct mpr_steps *s = e->steps;
    for (size_t i = 0; s && i < s->instances.heaps; i++) {
        if (mpr_heap_is_device(s->heap[i].heap->heap)) continue; /* PyTorch's segments: its cache */
        stands_out(out, e, &s->heap[i]);
        growth(out, s, &s->heap[i]);
    }
}
