/* Rules on growth: instances of a repeated range that stand out or keep memory, and if no range
 * repeats, call sites that grow over time, as `leaks` finds them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "evidence.h"
#include "leaks.h"
#include "module_outliers.h"
#include "outliers.h"

/* ---- growth by the sites' own clocks */

static const struct mpr_site_growth *growth_at_sites(const struct mpr_evidence *e, uint8_t heap)
{
    const struct mpr_site_growth *g =
        mpr_site_growth_of(e->site_growth, e->site_growths, e->log, heap);
    return g && g->kept_bytes >= MPR_WORTH_BYTES ? g : NULL;
}

/* Returns by how much the peak of the median training step exceeds that of the step before it, or 0
 * if there are too few steps. */
static uint64_t growth_of_step(const struct mpr_breakdown *b, const struct mpr_breakdown_heap *h)
{
    enum { LEAST = 8 };
    const size_t steps = h->step_peaks < b->steps ? h->step_peaks : b->steps;
    if (steps <= LEAST) return 0;
    uint64_t *more = mpr_alloc(steps - 1, sizeof *more);
    for (size_t i = 1; i < steps; i++)
        more[i - 1] = mpr_saturating_sub(h->step_peak[i], h->step_peak[i - 1]);
    const uint64_t median = mpr_outliers_median(more, steps - 1);
    free(more);
    return median;
}

/* Adds the growth of a training step, if the steps together grew by about as much as the sites. */
static void add_growth_of_step(struct mpr_finding *f, const struct mpr_evidence *e)
{
    for (size_t i = 0; e->breakdown && i < e->breakdown->heaps; i++) {
        const struct mpr_breakdown_heap *h = &e->breakdown->heap[i];
        const uint64_t step = h->heap == f->heap ? growth_of_step(e->breakdown, h) : 0,
                       all = step * e->breakdown->steps;
        if (all >= f->bytes / 2 && all / 2 <= f->bytes) mpr_finding_bytes(f, "step_bytes", step);
    }
}

void mpr_insights_sites(struct mpr_insights *out, const struct mpr_evidence *e)
{
    for (size_t i = 0; i < e->site_growths; i++) {
        const uint8_t heap = e->site_growth[i].heap;
        const struct mpr_site_growth *g = growth_at_sites(e, heap);
        if (!g) continue;
        struct mpr_finding *f =
            mpr_finding_add(out, MPR_FINDING_GROWTH, heap, g->last_ns, g->kept_bytes);
        f->variant = mpr_heap_is_torch(heap) ? MPR_VARIANT_EACH_CALL_TORCH : MPR_VARIANT_EACH_CALL;
        f->path = g->path;
        mpr_finding_bytes(f, "grown_bytes", g->kept_bytes);
        mpr_finding_bytes(f, "each_bytes", g->kept_bytes / g->times);
        mpr_finding_count(f, "times", g->times);
        mpr_finding_count(f, "sites", g->sites);
        add_growth_of_step(f, e);
    }
}

/* ---- instances of a range */

/* Returns the call site in which the peak of the heap is larger than elsewhere, if the heap is
 * PyTorch's: in a module that holds much more than others of its kind, or else in the activations
 * of the pass. */
static struct mpr_path site_at_peak(struct mpr_insights *out, const struct mpr_evidence *e,
                                    uint8_t heap)
{
    const struct mpr_heap_peak *whole =
        out->by_python.logs ? mpr_peaks_heap(&out->by_python.log[0], heap) : NULL;
    const struct mpr_row *row = NULL;
    size_t count = 0;
    if (whole) {
        const struct mpr_module_outlier *o =
            mpr_module_outliers(&out->arena, whole->row, whole->rows, whole->peak_bytes, &count);
        if (count) row = mpr_row_inside(whole->row, whole->rows, o->module);
    }
    for (size_t i = 0; !row && e->breakdown && i < e->breakdown->heaps; i++) {
        const struct mpr_role_share *share = &e->breakdown->heap[i].role[MPR_ROLE_ACTIVATIONS];
        if (e->breakdown->heap[i].heap == heap && share->rows) row = share->row;
    }
    return row ? row->path : (struct mpr_path){ NULL, 0 };
}

static bool has_call(struct mpr_path path)
{
    for (size_t i = 0; i < path.depth; i++)
        if (mpr_frame_is_call(path.frame[i])) return true;
    return false;
}

/* Returns false if the instances differ by design: nodes of autograd, which are those of different
 * layers, or a range of which many instances stand out. */
static bool is_comparable(const struct mpr_steps *s, const struct mpr_steps_heap *h)
{
    enum { OUTLIERS_SHARE = 8 };
    const char *range = s->instances.range;
    return h->peaks_out <= 1 + s->instances.instances / OUTLIERS_SHARE &&
           !(strncmp(range, "torch:", 6) == 0 && strstr(range, "Backward"));
}

/* The instance whose peak is far above the median.  If another one reaches the heap's peak, a
 * lower peak of this one would save nothing. */
static void outlier(struct mpr_insights *out, const struct mpr_evidence *e,
                    const struct mpr_steps_heap *h)
{
    const struct mpr_steps *s = e->steps;
    const struct mpr_instance_heap *instance = &h->heap->of[h->worst_peak];
    const uint64_t peak = instance->peak_bytes, more = mpr_saturating_sub(peak, h->median_peak);
    if (!h->peaks_out || !mpr_worth(more, peak) || !is_comparable(s, h)) return;
    const struct mpr_heap_peak *whole = mpr_peaks_heap(e->log, h->heap->heap);
    if (whole && peak < whole->peak_bytes) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_INSTANCE, h->heap->heap, instance->peak_time, more);
    const struct mpr_row *cause = h == &s->heap[s->shown] ? mpr_steps_cause(s) : NULL;
    if (cause) f->path = cause->path;
    const struct mpr_path site = has_call(f->path) ? f->path : site_at_peak(out, e, h->heap->heap);
    if (site.depth) f->path = site;
    mpr_finding_count(f, "instance", instance->peak_number);
    mpr_finding_count(f, "instances", s->instances.count);
    mpr_finding_bytes(f, "peak_bytes", peak);
    mpr_finding_bytes(f, "median_peak_bytes", h->median_peak);
    mpr_finding_detail_text(
        f, "name", mpr_instances_at_peak(&out->arena, &s->instances, h->heap, h->worst_peak));
}

MPR_COMPARE(largest_first, uint64_t, mpr_compare(*b, *a))

/* A complete training step whose peak is far above the median. */
struct large_step {
    size_t number;         /* from 1; 0: none */
    uint64_t peak, median; /* bytes */
};

/* Returns the largest step, if few others stand out.  The first step is left out: libraries set up
 * their workspaces in it. */
static struct large_step find_large_step(const uint64_t *step_peak, size_t steps)
{
    enum { LEAST = 8, OUTLIERS_SHARE = 8 };
    struct large_step large = { .number = 0 };
    if (steps <= LEAST) return large;
    const size_t count = steps - 1;
    uint64_t *sorted = mpr_alloc(count, sizeof *sorted);
    memcpy(sorted, step_peak + 1, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, largest_first);
    const size_t outliers = mpr_outliers_above(sorted, count);
    large.peak = sorted[0];
    large.median = sorted[count / 2];
    free(sorted);
    if (!outliers || outliers > 1 + count / OUTLIERS_SHARE) return large;
    for (size_t i = 1; !large.number; i++)
        if (step_peak[i] == large.peak) large.number = i + 1;
    return large;
}

/* A training step with the peak, far above the median step, of a program whose steps have no range.
 * Its activations are at least half of the difference: an evaluation between two steps has none. */
static void training_step(struct mpr_insights *out, const struct mpr_evidence *e,
                          const struct mpr_breakdown_heap *h)
{
    const size_t steps = h->step_peaks < e->breakdown->steps ? h->step_peaks : e->breakdown->steps;
    if (e->at_oom[h->device] || mpr_finding_of(out, MPR_FINDING_INSTANCE, h->heap)) return;
    const struct large_step step = find_large_step(h->step_peak, steps);
    if (!step.number || step.peak < h->bytes) return;
    const uint64_t more = step.peak - step.median;
    if (!mpr_worth(more, step.peak) || h->role[MPR_ROLE_ACTIVATIONS].bytes < more / 2) return;
    struct mpr_finding *f = mpr_finding_add(out, MPR_FINDING_INSTANCE, h->heap, h->time, more);
    f->variant = MPR_VARIANT_TRAINING_STEP;
    f->path = site_at_peak(out, e, h->heap);
    mpr_finding_count(f, "instance", step.number);
    mpr_finding_count(f, "instances", steps);
    mpr_finding_bytes(f, "peak_bytes", step.peak);
    mpr_finding_bytes(f, "median_peak_bytes", step.median);
}

static uint64_t min_end_bytes(const struct mpr_instance_heap *of, size_t count)
{
    uint64_t min = of->end_bytes;
    for (size_t i = 1; i < count; i++)
        if (of[i].end_bytes < min) min = of[i].end_bytes;
    return min;
}

/* Returns the even growth in half of the instances: twice the smaller step between the lowest bytes
 * of the second, the third and the last quarter.  Other kept memory was freed between instances,
 * like gradients and parameters that FSDP gathers, or was allocated once, like the optimizer's
 * state. */
static uint64_t even_growth(const struct mpr_steps *s, const struct mpr_instances_heap *h)
{
    const size_t count = s->instances.instances, quarter = count < 4 ? 1 : count / 4;
    const struct mpr_instance_heap *last = h->of + count - quarter;
    const uint64_t second = min_end_bytes(last - count / 2, quarter),
                   third = min_end_bytes(last - count / 4, quarter),
                   before = mpr_saturating_sub(third, second),
                   after = mpr_saturating_sub(min_end_bytes(last, quarter), third);
    return before < after ? 2 * before : 2 * after;
}

/* Reports the bytes that at least half of the instances keep.  On a device the instances may be the
 * layers of one pass, so the limit is higher. */
static void kept_by_instances(struct mpr_insights *out, const struct mpr_steps *s,
                              const struct mpr_steps_heap *h)
{
    const struct mpr_instances_heap *heap = h->heap;
    const uint64_t entry = h->median_kept > 0 ? (uint64_t)h->median_kept : 0,
                   kept = entry / s->instances.each, count = s->instances.count;
    uint64_t all;
    if (count < MPR_STEPS_LEAST || __builtin_mul_overflow(kept, count / 2, &all)) return;
    const uint64_t even = even_growth(s, heap);
    if (even < all) all = even;
    if (!(mpf_heap_is_gpu(heap->heap) ? mpr_worth(all, heap->peak_bytes)
                                      : mpr_worth_growth(all, heap->peak_bytes)))
        return;
    struct mpr_finding *f = mpr_finding_add(out, MPR_FINDING_GROWTH, heap->heap,
                                            heap->of[s->instances.instances - 1].peak_time, all);
    f->variant = MPR_VARIANT_EACH_INSTANCE;
    mpr_finding_bytes(f, "kept_bytes", kept);
    mpr_finding_count(f, "instances", count);
    mpr_finding_detail_text(f, "range", s->instances.range);
}

/* Leaves out the device's heap: its blocks are PyTorch's segments, which its cache keeps. */
void mpr_insights_steps(struct mpr_insights *out, const struct mpr_evidence *e)
{
    const struct mpr_steps *s = e->steps;
    for (size_t i = 0; s && i < s->instances.heaps; i++) {
        if (mpr_heap_is_device(s->heap[i].heap->heap)) continue;
        outlier(out, e, &s->heap[i]);
        if (!growth_at_sites(e, s->heap[i].heap->heap)) kept_by_instances(out, s, &s->heap[i]);
    }
    for (size_t i = 0; e->breakdown && i < e->breakdown->heaps; i++)
        training_step(out, e, &e->breakdown->heap[i]);
}

/* ---- growth over time */

/* The growing sites of a heap.  A heap that grows without such a site is at work (a compiler, a
 * loader) and gives no finding. */
struct growth {
    uint64_t bytes, live_bytes; /* grown, and live at the end of the growth */
    double variance;            /* 0 if exact */
    const struct mpr_row *row;  /* the site that grew most, or NULL */
    size_t sites;
};

static struct growth growth_of(const struct mpr_leaks_heap *h)
{
    struct growth g = { .sites = 0 };
    for (size_t i = 0; i < h->growing.rows; i++) {
        const struct mpr_leaks_row *r = &h->growing.row[i];
        if (mpr_startup_loads(&r->row)) continue;
        if (!g.sites++) g.row = &r->row;
        g.bytes += r->row.bytes;
        g.live_bytes += r->row.live_bytes;
        g.variance += (double)r->error * (double)r->error;
    }
    return g;
}

/* A run that ends in a moment may grow until its end.  Its sites count only if they have a name and
 * the process allocated many times the bytes that they kept: a server frees most of what it
 * allocates, and a loader keeps it. */
static bool is_loading(const struct mpr_evidence *e, const struct growth *g)
{
    enum { MOMENT_SECONDS = 1, TURNED_OVER = 8 };
    uint64_t allocated = 0;
    if (mpr_leaks_steps(e->leaks) >= MOMENT_SECONDS) return false;
    for (size_t i = 0; i < e->log->heaps; i++) allocated += e->log->heap[i].made_bytes;
    return !g->row->path.depth || allocated / TURNED_OVER < g->bytes;
}

/* Returns true if a heap inside of @heap shows the same growth in more detail. */
static bool grows_inside(const struct mpr_leaks *l, uint8_t heap)
{
    for (size_t i = 0; i < l->peaks.log[0].heaps; i++)
        if (l->heap[i].growing.rows && l->heap[i].live->inside == heap) return true;
    return false;
}

static bool is_worth_it(const struct mpr_evidence *e, uint8_t heap, const struct growth *g)
{
    if (!g->sites || is_loading(e, g)) return false;
    const struct mpr_heap_peak *whole = mpr_peaks_heap(e->log, heap);
    return mpr_worth_growth(g->bytes, whole ? whole->peak_bytes : 0) && !mpr_heap_is_device(heap) &&
           !grows_inside(e->leaks, heap);
}

static void growth_over_time(struct mpr_insights *out, const struct mpr_evidence *e, uint8_t heap,
                             const struct growth *g)
{
    const struct mpr_leaks *l = e->leaks;
    const struct mpr_heap_peak *whole = mpr_peaks_heap(e->log, heap);
    struct mpr_finding *f = mpr_finding_add(out, MPR_FINDING_GROWTH, heap, l->last_ns, g->bytes);
    const uint64_t second = (uint64_t)((double)g->bytes / mpr_leaks_steps(l));
    const bool estimated = g->variance > 0;
    f->variant = mpr_startup_is_short(l) ? MPR_VARIANT_SHORT_RUN
                 : g->row->path.depth    ? MPR_VARIANT_STEADY
                                         : MPR_VARIANT_STEADY_UNNAMED;
    f->estimated = estimated;
    f->path = g->row->path;
    mpr_finding_estimate(f, "grown_bytes", g->bytes, estimated);
    mpr_finding_estimate(f, "a_second_bytes", second, estimated);
    mpr_finding_fact(
        f, (struct mpr_fact){ "grown_in_ns", MPR_FACT_SPAN, false, l->last_ns - l->warm_ns });
    mpr_finding_estimate(f, "live_bytes", g->live_bytes, estimated);
    mpr_finding_count(f, "sites", g->sites);
    if (g->row->blocks)
        mpr_finding_estimate(f, "block_bytes", g->row->bytes / g->row->blocks, estimated);
    if (whole) mpr_finding_bytes(f, "heap_bytes", whole->peak_bytes);
    if (estimated) mpr_finding_bytes(f, "error_bytes", (uint64_t)sqrt(g->variance));
    if (g->sites > 1)
        mpr_finding_detail(
            f, (struct mpr_fact){ "place_bytes", MPR_FACT_BYTES, estimated, g->row->bytes });
}

void mpr_insights_growth(struct mpr_insights *out, const struct mpr_evidence *e)
{
    const struct mpr_leaks *l = e->leaks;
    if (!l || !mpr_leaks_has_growth(l)) return;
    for (size_t i = 0; i < l->peaks.log[0].heaps; i++) {
        const struct growth g = growth_of(&l->heap[i]);
        const uint8_t heap = l->heap[i].live->heap;
        if (is_worth_it(e, heap, &g)) growth_over_time(out, e, heap, &g);
    }
}
