/* What grows by the clock, where no range repeats: of each heap what `leaks` says of its sites.  A
 * heap of which no site grows by itself is at work (a compiler, a loader): that is no finding. */
#include <math.h>
#include <string.h>

#include "evidence.h"
#include "units.h"

/* A program that is over in a moment grows until it is.  Of such one only a place that has a name
 * is told, and where the host made many times as many bytes as that place kept: who serves gives
 * most of what it makes back, and who loads keeps it.  Of a short one a longer run tells which it
 * is. */
enum { MOMENT_SECONDS = 1, SHORT_SECONDS = 5, TURNED_OVER = 8 };

struct grown {
    uint64_t bytes;
    double variance;           /* 0: that is exact */
    const struct mpr_row *row; /* the site that grew most; NULL: none does */
    size_t sites;
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Does a frame load code?  Python's import runs the bodies of modules below it. */
static bool loads(const char *frame)
{
    static const char *const loader[] = { "dlopen",        "dl_open_worker",      "cuModuleLoad",
                                          "cuLibraryLoad", "cuModuleGetFunction", "cuLibraryGet" };
    for (size_t i = 0; i < sizeof loader / sizeof *loader; i++)
        if (begins(frame, loader[i])) return true;
    return false;
}

/* Code that is loaded when it is used for the first time grows, and ends with the code. */
static bool is_loading(const struct mpr_row *row)
{
    bool imports = false;
    for (size_t i = 0; i < row->depth; i++) {
        const char *frame = row->path[i];
        const bool importer = strstr(frame, "(<frozen importlib") != NULL;
        if (loads(frame)) return true;
        imports = importer || (imports && begins(frame, "<module> ("));
    }
    return imports;
}

static struct grown grown_of(const struct mpr_leaks_heap *h)
{
    struct grown g = { .sites = 0 };
    for (size_t i = 0; i < h->growings; i++) {
        const struct mpr_leaks_row *r = &h->growing[i];
        if (is_loading(&r->row)) continue;
        if (!g.sites++) g.row = &r->row;
        g.bytes += r->row.bytes;
        g.variance += (double)r->error * (double)r->error;
    }
    return g;
}

/* Does a heap inside of it say more of the same growth? */
static bool is_told_inside(const struct mpr_leaks *l, uint8_t heap)
{
    for (size_t i = 0; i < l->peaks.log[0].heaps; i++) {
        const struct mpr_leaks_heap *h = &l->heap[i];
        if (h->growings && h->live->inside == heap) return true;
    }
    return false;
}

/* Of a moment: is that no loading? */
static bool is_told_soon(const struct mpr_log_peaks *log, const struct grown *g)
{
    uint64_t made = 0;
    for (size_t i = 0; i < log->heaps; i++) made += log->heap[i].made_bytes;
    return g->row->depth && made / TURNED_OVER >= g->bytes;
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
    const bool is_short = mpr_leaks_steps(l) < SHORT_SECONDS;
    const char *heap = mpr_heap_name(h->live->heap), *about = g->variance > 0 ? "~" : "";
    struct mpr_finding *f =
        mpr_finding_add(out, "growth", mpr_finding_place(out, h->live->heap), g->bytes);
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
        : g->row->depth
            ? "what holds on to it: a container that only grows, a cache without a bound"
            : "its source is not known: run again with call stacks (--stacks=sample, --python=on)";
    f->look = "leaks";
    f->path = g->row->path;
    f->depth = g->row->depth;
    mpr_finding_at(f, h->live->heap, l->last_ns);
    mpr_finding_bytes(f, "grown_bytes", g->bytes);
    mpr_finding_bytes(f, "a_second_bytes", second);
    mpr_finding_count(f, "grown_in_ns", ns);
    mpr_finding_count(f, "sites", g->sites);
    if (f->about) mpr_finding_bytes(f, "error_bytes", (uint64_t)sqrt(g->variance));
}

void mpr_insights_growth(struct mpr_insights *out, const struct mpr_evidence *e)
{
    const struct mpr_leaks *l = e->leaks;
    if (!l || l->kept < MPR_LEAKS_LEAST || l->last_ns - l->warm_ns < MPR_GROWTH_LEAST_NS) return;
    for (size_t i = 0; i < l->peaks.log[0].heaps; i++) {
        const struct grown g = grown_of(&l->heap[i]);
        if (is_worth_it(e, &l->heap[i], &g)) tell(out, l, &l->heap[i], &g);
    }
}
