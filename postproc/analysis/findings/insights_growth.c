/* Growth over time if no range repeats: the growing sites of each heap, as `leaks` finds them.  A
 * heap that grows without such a site is at work (a compiler, a loader) and gives no finding. */
#include <math.h>

#include "evidence.h"
#include "startup.h"
#include "units.h"

/* A run that ends in a moment may grow until its end.  Its sites count only if they have a name and
 * the host allocated many times the bytes that they kept: a server frees most of what it allocates,
 * and a loader keeps it. */
enum { MOMENT_SECONDS = 1, TURNED_OVER = 8 };

struct grown {
    uint64_t bytes;
    double variance;           /* 0: that is exact */
    const struct mpr_row *row; /* the site that grew most; NULL: none does */
    size_t sites;
};

static struct grown grown_of(const struct mpr_leaks_heap *h)
{
    struct grown g = { .sites = 0 };
    for (size_t i = 0; i < h->growings; i++) {
        const struct mpr_leaks_row *r = &h->growing[i];
        if (mpr_startup_loads(&r->row)) continue;
        if (!g.sites++) g.row = &r->row;
        g.bytes += r->row.bytes;
        g.variance += (double)r->error * (double)r->error;
    }
    return g;
}

/* Returns true if a heap inside of it shows the same growth in more detail. */
static bool is_told_inside(const struct mpr_leaks *l, uint8_t heap)
{
    for (size_t i = 0; i < l->peaks.log[0].heaps; i++) {
        const struct mpr_leaks_heap *h = &l->heap[i];
        if (h->growings && h->live->inside == heap) return true;
    }
    return false;
}

/* Returns true if the growth of a moment is more than loading. */
static bool is_told_soon(const struct mpr_log_peaks *log, const struct grown *g)
{
    uint64_t made = 0;
    for (size_t i = 0; i < log->heaps; i++) made += log->heap[i].made_bytes;
    return g->row->path.depth && made / TURNED_OVER >= g->bytes;
}

static bool is_worth_it(const struct mpr_evidence *e, const struct mpr_leaks_heap *h,
                        const struct grown *g)
{
    if (!g->sites) return false;
    if (mpr_leaks_steps(e->leaks) < MOMENT_SECONDS && !is_told_soon(e->log, g)) return false;
    const struct mpr_heap_peak *whole = mpr_peaks_heap(e->log, h->live->heap);
    return mpr_worth_growth(g->bytes, whole ? whole->peak_bytes : 0) &&
           !mpr_heap_is_device(h->live->heap) && /* PyTorch's segments: its cache */
           !is_told_inside(e->leaks, h->live->heap);
}

/* "~7.50 MiB (+-35 %)" */
static const char *amount(struct mpr_insights *out, const struct grown *g)
{
    const char *size = mpr_finding_size(out, g->bytes);
    if (g->variance == 0) return size;
    return mpr_arena_format(&out->arena, "~%s (+-%.0f %%)", size,
                            100 * sqrt(g->variance) / (double)g->bytes);
}

static const char *where_of(struct mpr_insights *out, const struct grown *g)
{
    if (g->sites == 1) return "";
    return mpr_arena_format(&out->arena, "; %s%s of it in one place", g->variance > 0 ? "~" : "",
                            mpr_finding_size(out, g->row->bytes));
}

static void tell(struct mpr_insights *out, const struct mpr_leaks *l,
                 const struct mpr_leaks_heap *h, const struct grown *g)
{
    struct mpr_number span;
    const uint64_t ns = l->last_ns - l->warm_ns,
                   second = (uint64_t)((double)g->bytes / mpr_leaks_steps(l));
    const bool is_short = mpr_startup_is_short(l);
    const char *heap = mpr_heap_name(h->live->heap), *about = g->variance > 0 ? "~" : "";
    struct mpr_finding *f =
        mpr_finding_add(out, MPR_FINDING_GROWTH, h->live->heap, l->last_ns, g->bytes);
    f->about = g->variance > 0;
    mpr_units_span(&span, ns);
    if (is_short)
        f->what = mpr_arena_format(&out->arena, "%s grew by %s in %s of a short run%s", heap,
                                   amount(out, g), span.text, where_of(out, g));
    else
        f->what = mpr_arena_format(&out->arena, "%s grew steadily, by %s in %s, %s%s a second%s",
                                   heap, amount(out, g), span.text, about,
                                   mpr_finding_size(out, second), where_of(out, g));
    f->change =
        is_short ? "what holds on to it; or was it still loading? a longer run tells"
        : g->row->path.depth
            ? "what holds on to it: a container that only grows, a cache without a bound"
            : "its source is not known: run again with call stacks (--stacks=sample, --python=on)";
    f->look = "leaks";
    f->path = g->row->path;
    mpr_finding_bytes(f, "grown_bytes", g->bytes);
    mpr_finding_bytes(f, "a_second_bytes", second);
    mpr_finding_count(f, "grown_in_ns", ns);
    mpr_finding_count(f, "sites", g->sites);
    if (f->about) mpr_finding_bytes(f, "error_bytes", (uint64_t)sqrt(g->variance));
}

void mpr_insights_growth(struct mpr_insights *out, const struct mpr_evidence *e)
{
    const struct mpr_leaks *l = e->leaks;
    if (!l || l->kept < MPR_LEAKS_LEAST || l->is_too_short) return;
    for (size_t i = 0; i < l->peaks.log[0].heaps; i++) {
        const struct grown g = grown_of(&l->heap[i]);
        if (is_worth_it(e, &l->heap[i], &g)) tell(out, l, &l->heap[i], &g);
    }
}
