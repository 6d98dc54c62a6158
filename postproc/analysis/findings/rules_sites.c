/* Rules on call sites, whatever their blocks are for: sites that are used again and again, and
 * sites that hold most of a heap. */
#include "amount.h"
#include "evidence.h"

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

/* Returns the largest row with a name that can have been in memory, or NULL. */
static const struct mpr_row *largest_named(const struct mpr_heap_peak *heap, uint64_t in_memory)
{
    const struct mpr_row *largest = NULL;
    for (size_t i = 0; i < heap->rows; i++)
        if (heap->row[i].path.depth && heap->row[i].bytes <= in_memory &&
            (!largest || heap->row[i].bytes > largest->bytes))
            largest = &heap->row[i];
    return largest;
}

/* ---- uses */

/* One use of a site needed many times the bytes of any other: a large request. */
static const struct mpr_site_use *outlier(const struct mpr_evidence *e, uint8_t heap)
{
    for (size_t i = 0; i < e->site_uses; i++) {
        const struct mpr_site_use *u = &e->site_use[i];
        const struct mpr_heap_peak *whole = mpr_peaks_heap(e->log, heap);
        if (u->heap == heap && whole && u->path.depth && !mpr_heap_is_device(heap) &&
            u->bytes >= MPR_WORTH_BYTES && u->bytes >= whole->peak_bytes / 2)
            return u;
    }
    return NULL;
}

/* @place: the place that names the use of a whole heap, or NULL. */
static void add_outlier(struct mpr_insights *out, const struct mpr_site_use *u,
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
static void outlier_of_heap(struct mpr_insights *out, const struct mpr_evidence *e,
                            const struct mpr_site_use *u)
{
    const struct mpr_heap_peak *whole = mpr_peaks_heap(e->log, u->heap);
    if (!u->whole || !whole || has_gpu(e) || u->bytes < MPR_WORTH_BYTES ||
        u->bytes < whole->peak_bytes / 2 || !is_in_memory(e, whole) ||
        mpr_finding_of(out, MPR_FINDING_INSTANCE, u->heap))
        return;
    const struct mpr_row *place = largest_named(whole, whole->peak_bytes);
    if (!place || place->bytes < u->bytes / 4) return;
    add_outlier(out, u, whole, place);
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

/* Returns false if memory ran out when most of the heap's peak was freed: its temporaries do not
 * explain that. */
static bool was_live_at_oom(const struct mpr_evidence *e, const struct mpr_heap_peak *whole)
{
    const unsigned device = mpf_heap_device(whole->heap);
    return !mpr_heap_is_torch(whole->heap) || !e->at_oom[device] ||
           e->state[device].torch_live >= whole->peak_bytes / 4 * 3;
}

/* Temporaries outside of the passes of training: one call site has most of them. */
static void temporaries(struct mpr_insights *out, const struct mpr_evidence *e,
                        const struct mpr_site_temporary *t)
{
    const struct mpr_heap_peak *whole = mpr_peaks_heap(e->log, t->heap);
    const bool of_torch = mpr_heap_is_torch(t->heap);
    if (of_torch ? is_in_pass(e, t->heap) : t->heap != MPF_HEAP_HOST || has_gpu(e)) return;
    if (mpr_finding_of(out, MPR_FINDING_TEMPORARIES, t->heap) ||
        mpr_finding_of(out, MPR_FINDING_GRADIENT_COPIES, t->heap)) /* they have a purpose */
        return;
    if (!whole || !are_many(t, whole) || !t->path.depth || !was_live_at_oom(e, whole) ||
        (!of_torch && !is_in_memory(e, whole)) ||
        (of_torch && !mpr_worth_on_device(e, t->heap, t->bytes, 200)))
        return;
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

/* A call site that holds much of the host's heap, in a program without a GPU and without another
 * finding for this heap.  The program may need that. */
static void holder(struct mpr_insights *out, const struct mpr_evidence *e)
{
    const struct mpr_heap_peak *whole = mpr_peaks_heap(e->log, MPF_HEAP_HOST);
    if (!whole || has_gpu(e) || is_explained(out, MPF_HEAP_HOST)) return;
    const uint64_t in_memory = most_in_memory(e, whole);
    const bool all = in_memory >= whole->peak_bytes / 4 * 3;
    const struct mpr_row *row = largest_named(whole, in_memory);
    if (!row || row->bytes < LEAST_HELD) return;
    /* if only a part was in memory, the row is most of that part */
    if (row->bytes < (all ? in_memory / 5 * 2 : in_memory / 4 * 3)) return;
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_HOLDER, MPF_HEAP_HOST, whole->peak_time, row->bytes);
    f->variant = MPR_VARIANT_HELD_HOST;
    f->weak = true;
    f->path = row->path;
    f->estimated = row->estimated;
    mpr_finding_estimate(f, "holder_bytes", row->bytes, row->estimated);
    mpr_finding_count(f, "holder_blocks", row->blocks);
    mpr_finding_bytes(f, "heap_bytes", whole->peak_bytes);
    if (!all) mpr_finding_bytes(f, "resident_bytes", in_memory);
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
    for (size_t i = 0; !thinned && i < e->site_uses; i++) {
        const uint8_t heap = e->site_use[i].heap;
        const struct mpr_site_use *u = outlier(e, heap);
        /* instances of a range show the same */
        if (u && !mpr_finding_of(out, MPR_FINDING_INSTANCE, heap))
            add_outlier(out, u, mpr_peaks_heap(e->log, heap), NULL);
    }
    for (size_t i = 0; !thinned && i < e->site_uses; i++) outlier_of_heap(out, e, &e->site_use[i]);
    for (size_t i = 0; !thinned && i < e->site_temporaries; i++)
        temporaries(out, e, &e->site_temporary[i]);
    holder(out, e);
    pinned(out, e);
}
