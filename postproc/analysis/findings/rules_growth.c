/* Rules on instances of a repeated range and on call sites, whatever their blocks are for:
 * instances and uses that stand out, growth, temporaries, and sites that hold most of a heap. */
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

/* Adds the growth of a training step, by which the peak of the median step exceeds that of the step
 * before it, if the steps together grew by about as much as the sites. */
static void add_growth_of_step(struct mpr_finding *f, const struct mpr_breakdown *b,
                               const struct mpr_breakdown_heap *h)
{
    enum { LEAST = 8 };
    const size_t steps = h->step_peaks < b->steps ? h->step_peaks : b->steps;
    if (h->heap != f->heap || steps <= LEAST) return;
    uint64_t *more = mpr_alloc(steps - 1, sizeof *more);
    for (size_t i = 1; i < steps; i++)
        more[i - 1] = mpr_saturating_sub(h->step_peak[i], h->step_peak[i - 1]);
    const uint64_t step = mpr_outliers_median(more, steps - 1), all = step * b->steps;
    free(more);
    if (all >= f->bytes / 2 && all / 2 <= f->bytes) mpr_finding_bytes(f, "step_bytes", step);
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
        for (size_t k = 0; e->breakdown && k < e->breakdown->heaps; k++)
            add_growth_of_step(f, e->breakdown, &e->breakdown->heap[k]);
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

/* The instance whose peak is far above the median.  If another one reaches the heap's peak, a
 * lower peak of this one would save nothing.  Instances differ by design if many of them stand out,
 * and nodes of autograd, which are those of different layers. */
static void outlying_instance(struct mpr_insights *out, const struct mpr_evidence *e,
                              const struct mpr_steps_heap *h)
{
    enum { OUTLIERS_SHARE = 8 };
    const struct mpr_steps *s = e->steps;
    const char *range = s->instances.range;
    const struct mpr_instance_heap *instance = &h->heap->entry[h->worst_peak];
    const struct mpr_heap_peak *whole = mpr_peaks_heap(e->log, h->heap->heap);
    const uint64_t peak = instance->peak_bytes, more = mpr_saturating_sub(peak, h->median_peak);
    if (!h->peaks_out || h->peaks_out > 1 + s->instances.instances / OUTLIERS_SHARE ||
        (strncmp(range, "torch:", 6) == 0 && strstr(range, "Backward")))
        return;
    if (!mpr_worth(more, peak) || (whole && peak < whole->peak_bytes)) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_INSTANCE, h->heap->heap, instance->peak_time, more);
    const struct mpr_row *cause = h == &s->heap[s->shown] ? mpr_steps_cause(s) : NULL;
    bool has_call = false;
    if (cause) f->path = cause->path;
    for (size_t i = 0; i < f->path.depth; i++) has_call |= mpr_frame_is_call(f->path.frame[i]);
    const struct mpr_path site = has_call ? f->path : site_at_peak(out, e, h->heap->heap);
    if (site.depth) f->path = site;
    mpr_finding_count(f, "instance", instance->peak_number);
    mpr_finding_count(f, "instances", s->instances.count);
    mpr_finding_bytes(f, "peak_bytes", peak);
    mpr_finding_bytes(f, "median_peak_bytes", h->median_peak);
    mpr_finding_detail_text(
        f, "name", mpr_instances_at_peak(&out->arena, &s->instances, h->heap, h->worst_peak));
}

MPR_COMPARE(largest_first, uint64_t, mpr_compare(*b, *a))

/* A training step with the peak, far above the median step, of a program whose steps have no range.
 * Few others stand out.  The first step is left out: libraries set up their workspaces in it.  The
 * activations are at least half of the difference: an evaluation between two steps has none. */
static void training_step(struct mpr_insights *out, const struct mpr_evidence *e,
                          const struct mpr_breakdown_heap *h)
{
    enum { LEAST = 8, OUTLIERS_SHARE = 8 };
    const size_t steps = h->step_peaks < e->breakdown->steps ? h->step_peaks : e->breakdown->steps,
                 count = steps - 1;
    if (steps <= LEAST || e->at_oom[h->device] ||
        mpr_finding_of(out, MPR_FINDING_INSTANCE, h->heap))
        return;
    uint64_t *sorted = mpr_alloc(count, sizeof *sorted);
    memcpy(sorted, h->step_peak + 1, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, largest_first);
    const size_t outliers = mpr_outliers_above(sorted, count);
    const uint64_t peak = sorted[0], median = sorted[count / 2], more = peak - median;
    free(sorted);
    if (!outliers || outliers > 1 + count / OUTLIERS_SHARE || peak < h->bytes) return;
    if (!mpr_worth(more, peak) || h->role[MPR_ROLE_ACTIVATIONS].bytes < more / 2) return;
    size_t number = 2;
    while (h->step_peak[number - 1] != peak) number++;
    struct mpr_finding *f = mpr_finding_add(out, MPR_FINDING_INSTANCE, h->heap, h->time, more);
    f->variant = MPR_VARIANT_TRAINING_STEP;
    f->path = site_at_peak(out, e, h->heap);
    mpr_finding_count(f, "instance", number);
    mpr_finding_count(f, "instances", steps);
    mpr_finding_bytes(f, "peak_bytes", peak);
    mpr_finding_bytes(f, "median_peak_bytes", median);
}

static uint64_t min_end_bytes(const struct mpr_instance_heap *of, size_t count)
{
    uint64_t min = of->end_bytes;
    for (size_t i = 1; i < count; i++)
        if (of[i].end_bytes < min) min = of[i].end_bytes;
    return min;
}

/* Reports the bytes that at least half of the instances keep, if they grew evenly: at most twice
 * the smaller step between the lowest bytes of the second, the third and the last quarter.  Other
 * kept memory was freed between instances, like gradients and parameters that FSDP gathers, or was
 * allocated once, like the optimizer's state.  On a device the instances may be the layers of one
 * pass, so the limit is higher. */
static void kept_by_instances(struct mpr_insights *out, const struct mpr_steps *s,
                              const struct mpr_steps_heap *h)
{
    const struct mpr_instances_heap *heap = h->heap;
    const uint64_t entry = h->median_kept > 0 ? (uint64_t)h->median_kept : 0,
                   kept = entry / s->instances.each, count = s->instances.count;
    const size_t instances = s->instances.instances, quarter = instances < 4 ? 1 : instances / 4;
    uint64_t all;
    if (count < MPR_STEPS_LEAST || __builtin_mul_overflow(kept, count / 2, &all)) return;
    const struct mpr_instance_heap *last = heap->entry + instances - quarter;
    const uint64_t second = min_end_bytes(last - instances / 2, quarter),
                   third = min_end_bytes(last - instances / 4, quarter),
                   before = mpr_saturating_sub(third, second),
                   after = mpr_saturating_sub(min_end_bytes(last, quarter), third),
                   even = before < after ? 2 * before : 2 * after;
    if (even < all) all = even;
    if (!(mpf_heap_is_gpu(heap->heap) ? mpr_worth(all, heap->peak_bytes)
                                      : mpr_worth_growth(all, heap->peak_bytes)))
        return;
    struct mpr_finding *f = mpr_finding_add(out, MPR_FINDING_GROWTH, heap->heap,
                                            heap->entry[s->instances.instances - 1].peak_time, all);
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
        outlying_instance(out, e, &s->heap[i]);
        if (!growth_at_sites(e, s->heap[i].heap->heap)) kept_by_instances(out, s, &s->heap[i]);
    }
    for (size_t i = 0; e->breakdown && i < e->breakdown->heaps; i++)
        training_step(out, e, &e->breakdown->heap[i]);
}

/* ---- growth over time */

/* A run that ends in a moment may grow until its end.  Its sites count only if they have a name and
 * the process allocated many times the bytes that they kept: a server frees most of what it
 * allocates, and a loader keeps it. */
static bool is_loading(const struct mpr_evidence *e, const struct mpr_row *site, uint64_t grown)
{
    enum { MOMENT_SECONDS = 1, TURNED_OVER = 8 };
    uint64_t allocated = 0;
    if (mpr_leaks_steps(e->leaks) >= MOMENT_SECONDS) return false;
    for (size_t i = 0; i < e->log->heaps; i++) allocated += e->log->heap[i].made_bytes;
    return !site->path.depth || allocated / TURNED_OVER < grown;
}

/* Returns true if a heap inside of @heap shows the same growth in more detail. */
static bool grows_inside(const struct mpr_leaks *l, uint8_t heap)
{
    for (size_t i = 0; i < l->peaks.log[0].heaps; i++)
        if (l->heap[i].growing.rows && l->heap[i].live->inside == heap) return true;
    return false;
}

/* The growing sites of a heap.  A heap that grows without such a site is at work (a compiler, a
 * loader) and gives no finding. */
static void growth_over_time(struct mpr_insights *out, const struct mpr_evidence *e,
                             const struct mpr_leaks_heap *h)
{
    const struct mpr_leaks *l = e->leaks;
    const uint8_t heap = h->live->heap;
    const struct mpr_heap_peak *whole = mpr_peaks_heap(e->log, heap);
    const struct mpr_row *site = NULL; /* that grew most */
    uint64_t grown = 0, live = 0;
    double variance = 0;
    size_t sites = 0;
    for (size_t i = 0; i < h->growing.rows; i++) {
        const struct mpr_leaks_row *r = &h->growing.row[i];
        if (mpr_startup_loads(&r->row)) continue;
        if (!sites++) site = &r->row;
        grown += r->row.bytes;
        live += r->row.live_bytes;
        variance += (double)r->error * (double)r->error;
    }
    if (!sites || !mpr_worth_growth(grown, whole ? whole->peak_bytes : 0)) return;
    if (is_loading(e, site, grown) || mpr_heap_is_device(heap) || grows_inside(l, heap)) return;
    struct mpr_finding *f = mpr_finding_add(out, MPR_FINDING_GROWTH, heap, l->last_ns, grown);
    const bool estimated = variance > 0;
    f->variant = mpr_startup_is_short(l) ? MPR_VARIANT_SHORT_RUN
                 : site->path.depth      ? MPR_VARIANT_STEADY
                                         : MPR_VARIANT_STEADY_UNNAMED;
    f->estimated = estimated;
    f->path = site->path;
    mpr_finding_estimate(f, "grown_bytes", grown, estimated);
    mpr_finding_estimate(f, "a_second_bytes", (uint64_t)((double)grown / mpr_leaks_steps(l)),
                         estimated);
    mpr_finding_fact(
        f, (struct mpr_fact){ "grown_in_ns", MPR_FACT_SPAN, false, l->last_ns - l->warm_ns });
    mpr_finding_estimate(f, "live_bytes", live, estimated);
    mpr_finding_count(f, "sites", sites);
    if (site->blocks) mpr_finding_estimate(f, "block_bytes", site->bytes / site->blocks, estimated);
    if (whole) mpr_finding_bytes(f, "heap_bytes", whole->peak_bytes);
    if (estimated) mpr_finding_bytes(f, "error_bytes", (uint64_t)sqrt(variance));
    if (sites > 1)
        mpr_finding_detail(
            f, (struct mpr_fact){ "place_bytes", MPR_FACT_BYTES, estimated, site->bytes });
}

void mpr_insights_growth(struct mpr_insights *out, const struct mpr_evidence *e)
{
    if (!e->leaks || !mpr_leaks_has_growth(e->leaks)) return;
    for (size_t i = 0; i < e->leaks->peaks.log[0].heaps; i++)
        growth_over_time(out, e, &e->leaks->heap[i]);
}

/* ---- use of memory by heaps and sites */

/* An array or a table of a hundred MiB is common in programs that need it. */
enum { LEAST_ON_HOST = 2 * MPR_WORTH_BYTES, LEAST_HELD = 5 * MPR_WORTH_BYTES / 2 };

static bool has_gpu(const struct mpr_evidence *e)
{
    for (size_t i = 0; i < e->log->heaps; i++)
        if (mpf_heap_is_gpu(e->log->heap[i].heap)) return true;
    return false;
}

/* Returns the most bytes of the heap that can have been in memory. */
static uint64_t most_in_memory(const struct mpr_evidence *e, const struct mpr_heap_peak *heap)
{
    uint64_t bytes = heap->peak_bytes;
    if (heap->touched.bytes < bytes) bytes = heap->touched.bytes; /* MPF_UNKNOWN is larger */
    return e->log->rss_high && e->log->rss_high < bytes ? e->log->rss_high : bytes;
}

static bool is_in_memory(const struct mpr_evidence *e, const struct mpr_heap_peak *heap)
{
    return most_in_memory(e, heap) >= heap->peak_bytes / 4 * 3;
}

/* Returns the bytes of the row that can have been in memory if @in_memory bytes of its heap were:
 * all of them, or what the other rows leave if it has more than that. */
static uint64_t bytes_in_memory(const struct mpr_heap_peak *heap, const struct mpr_row *row,
                                uint64_t in_memory)
{
    return row->bytes <= in_memory ? row->bytes
                                   : mpr_saturating_sub(in_memory, heap->peak_bytes - row->bytes);
}

/* Returns the row with a name that can have most bytes in memory, or NULL. */
static const struct mpr_row *largest_named(const struct mpr_heap_peak *heap, uint64_t in_memory)
{
    const struct mpr_row *largest = NULL;
    uint64_t most = 0;
    for (size_t i = 0; i < heap->rows; i++) {
        const uint64_t bytes = bytes_in_memory(heap, &heap->row[i], in_memory);
        if (!heap->row[i].path.depth || bytes <= most) continue;
        most = bytes;
        largest = &heap->row[i];
    }
    return largest;
}

/* ---- uses */

/* @place: the place that names the use of a whole heap, or NULL. */
static void add_use(struct mpr_insights *out, const struct mpr_site_use *u,
                    const struct mpr_heap_peak *whole, const struct mpr_row *place)
{
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_INSTANCE, u->heap, whole->peak_time, u->bytes - u->second);
    f->variant = place ? MPR_VARIANT_USE_OF_HEAP : MPR_VARIANT_USE;
    f->path = place ? place->path : u->path;
    f->estimated = u->estimated;
    mpr_finding_estimate(f, "largest_bytes", u->bytes, u->estimated);
    mpr_finding_estimate(f, "second_bytes", u->second, u->estimated);
    mpr_finding_estimate(f, "typical_bytes", u->typical, u->estimated);
    mpr_finding_count(f, "uses", u->uses);
    mpr_finding_bytes(f, "heap_bytes", whole->peak_bytes);
    if (place) mpr_finding_estimate(f, "place_bytes", place->bytes, place->estimated);
}

/* The host's heap rose once to many times the bytes of any other time.  If small blocks have no
 * call stacks, no place shows this: the usual blocks of the place of the large use have no name.
 * The place has at least a quarter of the bytes: a smaller one would be a detail of the use. */
static void large_use_of_heap(struct mpr_insights *out, const struct mpr_evidence *e,
                              const struct mpr_site_use *u)
{
    const struct mpr_heap_peak *whole = mpr_peaks_heap(e->log, u->heap);
    if (!u->whole || !whole || has_gpu(e) || u->bytes < MPR_WORTH_BYTES ||
        u->bytes < whole->peak_bytes / 2 || !is_in_memory(e, whole) ||
        mpr_finding_of(out, MPR_FINDING_INSTANCE, u->heap))
        return;
    const struct mpr_row *place = largest_named(whole, whole->peak_bytes);
    if (!place || place->bytes < u->bytes / 4) return;
    add_use(out, u, whole, place);
    out->finding[out->findings - 1].weak = true; /* that it is a request is a guess */
}

/* ---- temporaries */

/* Returns true if the peak of the heap is in a pass of training.  The roles of its blocks show its
 * temporaries.  A program that does not train has no end of a forward pass. */
static bool is_in_pass(const struct mpr_evidence *e, uint8_t heap)
{
    const struct mpr_breakdown *b = e->breakdown;
    for (size_t i = 0; b && (b->passes || b->steps) && i < b->heaps; i++)
        if (b->heap[i].heap == heap)
            return b->heap[i].phase != MPR_PHASE_SETUP && b->heap[i].phase != MPR_PHASE_BETWEEN;
    return false;
}

/* Every program has temporaries at its peak.  They are worth a change if one place has many bytes.
 * They are also if all of them are three quarters of the heap, and other places have half as much
 * as this one: one buffer may be all that the program works on, but several are copies.  If there
 * are four or more, no place names them. */
static bool are_many(const struct mpr_site_temporary *t, const struct mpr_heap_peak *whole)
{
    const uint64_t least = mpr_heap_is_torch(t->heap) ? 4 * MPR_WORTH_BYTES : LEAST_ON_HOST;
    if (t->bytes >= least && t->bytes >= whole->peak_bytes / 5 * 2) return true;
    return t->bytes >= whole->peak_bytes / 4 && t->all >= MPR_WORTH_BYTES &&
           t->all >= whole->peak_bytes / 4 * 3 && t->all - t->bytes >= t->bytes / 2;
}

/* Temporaries outside of the passes of training: one call site has most of them.  If memory ran out
 * when most of the heap's peak was freed, they do not explain that. */
static void temporaries(struct mpr_insights *out, const struct mpr_evidence *e,
                        const struct mpr_site_temporary *t)
{
    const struct mpr_heap_peak *whole = mpr_peaks_heap(e->log, t->heap);
    const bool of_torch = mpr_heap_is_torch(t->heap);
    if (of_torch ? is_in_pass(e, t->heap) : t->heap != MPF_HEAP_HOST || has_gpu(e)) return;
    if (mpr_finding_of(out, MPR_FINDING_TEMPORARIES, t->heap) ||
        mpr_finding_of(out, MPR_FINDING_GRADIENT_COPIES, t->heap)) /* they have a purpose */
        return;
    if (!whole || !are_many(t, whole) || !t->path.depth) return;
    if (!of_torch && !is_in_memory(e, whole)) return;
    if (of_torch) {
        const unsigned device = mpf_heap_device(t->heap);
        if (!mpr_worth_on_device(e, t->heap, t->bytes, 200)) return;
        if (e->at_oom[device] && e->state[device].torch_live < whole->peak_bytes / 4 * 3) return;
    }
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_TEMPORARIES, t->heap, whole->peak_time, t->bytes);
    f->variant = of_torch ? MPR_VARIANT_CALLS : MPR_VARIANT_HOST_CALLS;
    f->path = t->path;
    f->estimated = t->estimated;
    mpr_finding_estimate(f, "place_bytes", t->bytes, t->estimated);
    mpr_finding_count(f, "times", t->times);
    if (t->all > t->bytes) mpr_finding_estimate(f, "temporary_bytes", t->all, t->estimated);
    mpr_finding_bytes(f, "heap_bytes", whole->peak_bytes);
}

/* ---- holders of host memory */

static bool is_explained(const struct mpr_insights *out, uint8_t heap)
{
    for (size_t i = 0; i < out->findings; i++)
        if (out->finding[i].heap == heap) return true;
    return false;
}

/* Returns the resident bytes of the place that are in huge pages. */
static uint64_t huge_bytes(const struct mpr_log_peaks *log, struct mpr_path path)
{
    for (size_t i = 0; i < log->owners; i++)
        if (mpr_frame_compare_paths(log->owner[i].path, path) == 0) return log->owner[i].huge;
    return 0;
}

/* A call site that holds much of a heap of the host, in a program without a GPU and without another
 * finding for this heap.  The program may need that. */
static void holder(struct mpr_insights *out, const struct mpr_evidence *e, uint8_t heap)
{
    const struct mpr_heap_peak *whole = mpr_peaks_heap(e->log, heap);
    if (!whole || has_gpu(e) || is_explained(out, heap)) return;
    const uint64_t in_memory = most_in_memory(e, whole);
    const bool all = in_memory >= whole->peak_bytes / 4 * 3;
    const struct mpr_row *row = largest_named(whole, in_memory);
    if (!row) return;
    const uint64_t bytes = bytes_in_memory(whole, row, in_memory),
                   huge = huge_bytes(e->log, row->path);
    /* if only a part was in memory, the row is most of that part */
    if (bytes < LEAST_HELD || bytes < (all ? in_memory / 5 * 2 : in_memory / 4 * 3)) return;
    struct mpr_finding *f = mpr_finding_add(out, MPR_FINDING_HOLDER, heap, whole->peak_time, bytes);
    f->variant = MPR_VARIANT_HELD_HOST;
    f->weak = true;
    f->path = row->path;
    f->estimated = row->estimated;
    mpr_finding_estimate(f, "holder_bytes", row->bytes, row->estimated);
    mpr_finding_count(f, "holder_blocks", row->blocks);
    mpr_finding_bytes(f, "heap_bytes", whole->peak_bytes);
    if (!all || bytes < row->bytes) mpr_finding_bytes(f, "resident_bytes", in_memory);
    if (huge >= MPR_WORTH_BYTES) mpr_finding_bytes(f, "huge_bytes", huge);
}

/* The kernel cannot swap pinned memory, and PyTorch keeps what it has pinned.  Data loaders and
 * checkpoints need some. */
static void pinned(struct mpr_insights *out, const struct mpr_evidence *e)
{
    enum { LEAST_SHARE = 8, MUCH_SHARE = 3 };
    const struct mpr_heap_peak *whole = mpr_peaks_heap(e->log, MPF_HEAP_PINNED);
    const uint64_t rss = e->log->rss_high;
    if (!whole || !whole->rows || whole->peak_bytes < 8 * MPR_WORTH_BYTES ||
        is_explained(out, MPF_HEAP_PINNED) ||
        (rss != MPF_UNKNOWN && whole->peak_bytes < rss / LEAST_SHARE))
        return;
    struct mpr_finding *f = mpr_finding_add(out, MPR_FINDING_PINNED, MPF_HEAP_PINNED,
                                            whole->peak_time, whole->peak_bytes);
    f->variant =
        mpr_peaks_has_torch(e->log) ? MPR_VARIANT_PINNED_BY_TORCH : MPR_VARIANT_PINNED_BY_PROGRAM;
    f->path = whole->row[0].path;
    f->weak = rss == MPF_UNKNOWN || whole->peak_bytes < rss / MUCH_SHARE;
    mpr_finding_bytes(f, "pinned_bytes", whole->peak_bytes);
    mpr_finding_count(f, "pinned_blocks", whole->peak_blocks);
    mpr_finding_bytes(f, "place_bytes", whole->row[0].bytes);
    if (rss != MPF_UNKNOWN) mpr_finding_bytes(f, "rss_bytes", rss);
}

void mpr_insights_uses(struct mpr_insights *out, const struct mpr_evidence *e)
{
    const bool thinned = e->log->summary.fold.until_ns; /* blocks are missing */
    /* One use of a site needed many times the bytes of any other: a large request.  Instances of a
     * range show the same. */
    for (size_t i = 0; !thinned && i < e->site_uses; i++) {
        const struct mpr_site_use *u = &e->site_use[i];
        const struct mpr_heap_peak *whole = mpr_peaks_heap(e->log, u->heap);
        if (whole && u->path.depth && !mpr_heap_is_device(u->heap) && u->bytes >= MPR_WORTH_BYTES &&
            u->bytes >= whole->peak_bytes / 2 &&
            !mpr_finding_of(out, MPR_FINDING_INSTANCE, u->heap))
            add_use(out, u, whole, NULL);
    }
    for (size_t i = 0; !thinned && i < e->site_uses; i++)
        large_use_of_heap(out, e, &e->site_use[i]);
    for (size_t i = 0; !thinned && i < e->site_temporaries; i++)
        temporaries(out, e, &e->site_temporary[i]);
    holder(out, e, MPF_HEAP_HOST);
    holder(out, e, MPF_HEAP_MMAP);
    pinned(out, e);
}
