#include "leaks.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "gpu.h"
#include "heap_names.h"
#include "labels.h"
#include "peaks.h"
#include "reader.h"
#include "survivors.h"
#include "user_frame.h"

enum {
    LEAST_POINTS = 6,
    RISING_OF_FIVE = 4,     /* four fifths of the points must be higher than the one before */
    MOMENT_NS = 1000000000, /* a program may take this long to end ... */
    ENDING_SHARE = 8,       /* ... or this share of its run */
    LARGE_OF_FIVE = 2,      /* one site with two fifths of the growth is its name; ... */
    MOST_OF_FOUR = 3,       /* ... otherwise the path with three quarters of it is */
    FEW_USES = 3,           /* from this number of pulses on a site is used repeatedly */
    MANY_USES = 8,          /* from this number on the usual size of a use is known */
    TIMES_LARGER = 3,       /* an outlier has this many times the bytes of any other use */
    ALIKE_TIMES = 4 /* the other uses are similar if their means before and after the outlier
                       differ by at most this factor, and their maximum from their mean */
};

/* ---- one site */

/* Returns true if the live bytes rise from point to point until the last one, and not in a single
 * step. */
static bool rises(const struct mpr_survivor *f)
{
    const uint32_t last = f->points - 1;
    if (f->points < LEAST_POINTS || f->point[last].low <= f->point[0].low) return false;
    const uint64_t grown = f->point[last].low - f->point[0].low,
                   lately = mpr_saturating_sub(f->point[last].low, f->point[last - last / 4].low);
    uint32_t up = 0;
    uint64_t leap = 0;
    for (uint32_t i = 1; i <= last; i++) {
        const uint64_t more = mpr_saturating_sub(f->point[i].low, f->point[i - 1].low);
        up += more > 0;
        if (more > leap) leap = more;
    }
    return up * 5 >= last * RISING_OF_FIVE && leap <= grown / 2 && lately >= grown / 8;
}

/* Returns true if the site was in use until the program ended.  Then the time since its last call
 * is at most half of the time between its first and last call, or twice the longest pause between
 * calls; and the same is true for the number of the program's allocations in these times.  So a
 * site that loads data at the start is not in use at the end: loading may take most of the time,
 * but the program allocates much after it.  If that number is known, the program may also wait for
 * a moment before it ends, for example for other ranks. */
static bool is_in_use(const struct mpr_survivor *f, struct mpr_survivor_time end)
{
    enum { ENOUGH = 16 };
    const struct mpr_survivor_time *first = &f->first, *last = &f->last;
    const uint64_t rest = mpr_saturating_sub(end.ns, last->ns),
                   rest_made = mpr_saturating_sub(end.device_allocs, last->device_allocs);
    const bool moment = end.device_allocs && f->points * f->each >= ENOUGH && rest <= MOMENT_NS;
    struct mpr_survivor_time pause = { 0, 0 };
    for (uint32_t i = 1; i < f->points; i++) {
        const struct mpr_survivor_time *a = &f->point[i - 1].last, *b = &f->point[i].last;
        if (b->ns - a->ns > pause.ns) pause.ns = b->ns - a->ns;
        if (b->device_allocs - a->device_allocs > pause.device_allocs)
            pause.device_allocs = b->device_allocs - a->device_allocs;
    }
    return (moment || rest <= (last->ns - first->ns) / 2 || rest <= 2 * pause.ns) &&
           (rest_made <= (last->device_allocs - first->device_allocs) / 2 ||
            rest_made <= 2 * pause.device_allocs);
}

/* ---- the sites of a heap */

struct site {
    const struct mpr_survivor *of;
    struct mpr_path path;
    uint64_t kept; /* bytes */
};

/* Returns an estimate of the bytes that the site allocated and never freed: the mean growth by
 * allocation, times the number of allocations.  The first quarter is left out of the mean, because
 * it may include workspaces.  The live bytes at the end may include temporaries. */
static uint64_t kept_bytes(const struct mpr_survivor *f, uint64_t allocations)
{
    const uint32_t last = f->points - 1, first = last / 4;
    const uint64_t grown = mpr_saturating_sub(f->point[last].low, f->point[first].low);
    const double each = (double)grown / (double)((last - first) * f->each),
                 kept = each * (double)allocations;
    return kept < (double)f->kept ? (uint64_t)kept : f->kept;
}

/* Returns the frame that follows @prefix in paths with at least three quarters of @all bytes, or
 * NULL. */
static const struct mpr_frame *shared_frame(const struct site *site, size_t sites,
                                            struct mpr_path prefix, uint64_t all)
{
    for (size_t i = 0; i < sites; i++) {
        const struct mpr_path p = site[i].path;
        uint64_t bytes = 0;
        if (p.depth <= prefix.depth) continue;
        for (size_t k = i; k < sites; k++) {
            const struct mpr_path q = site[k].path;
            bool same = q.depth > prefix.depth;
            for (size_t d = 0; same && d <= prefix.depth; d++) same = q.frame[d] == p.frame[d];
            if (same) bytes += site[k].kept;
        }
        if (bytes / MOST_OF_FOUR >= all / 4) return p.frame[prefix.depth];
    }
    return NULL;
}

static struct mpr_path shared_path(struct mpr_arena *arena, const struct site *site, size_t sites,
                                   uint64_t all)
{
    size_t depth = 0;
    for (size_t i = 0; i < sites; i++)
        if (site[i].path.depth > depth) depth = site[i].path.depth;
    const struct mpr_frame **frame = mpr_arena_alloc(arena, (depth + 1) * sizeof *frame), *next;
    struct mpr_path path = { frame, 0 };
    while ((next = shared_frame(site, sites, path, all))) frame[path.depth++] = next;
    return path;
}

static struct mpr_path path_of(struct mpr_arena *arena, const struct mpr_reader *reader,
                               const struct mpr_survivors_place *place)
{
    return mpr_label_best(arena, reader, place->node,
                          mpr_sites_of(&reader->replay.sites, place->site));
}

/* Returns the site that kept most bytes, or one in the program's own code that kept nearly as many,
 * because that tells more than a library call that allocated a part of the same data. */
static const struct site *largest_of(struct mpr_arena *arena, const struct site *site, size_t sites)
{
    struct mpr_user_frames *user_frames = mpr_user_frames_new();
    const struct site *largest = site, *own = NULL;
    for (size_t i = 1; i < sites; i++)
        if (site[i].kept > largest->kept) largest = &site[i];
    for (size_t i = 0; i < sites; i++)
        if (site[i].kept >= largest->kept / 10 * 9 && (!own || site[i].kept > own->kept) &&
            mpr_user_frames_is_own(user_frames, arena, site[i].path))
            own = &site[i];
    mpr_user_frames_free(user_frames);
    return own ? own : largest;
}

static void sum_up(struct mpr_arena *arena, struct mpr_site_growth *out,
                   const struct mpr_survivors *survivors, const struct site *site, size_t sites)
{
    const struct site *largest = largest_of(arena, site, sites);
    out->sites = sites;
    for (size_t i = 0; i < sites; i++) {
        out->kept_bytes += site[i].kept;
        out->times += survivors->place[site[i].of->place].allocations;
        if (site[i].of->last.ns > out->last_ns) out->last_ns = site[i].of->last.ns;
    }
    out->path = largest->kept / LARGE_OF_FIVE >= out->kept_bytes / 5
                    ? largest->path
                    : shared_path(arena, site, sites, out->kept_bytes);
}

/* Returns the time at which the program began to end: the last begin of a range, or the last
 * allocation of device or pinned memory.  If the program did not end soon after that, returns the
 * end of the log. */
static uint64_t end_of_work(const struct mpr_survivors *survivors, uint64_t end)
{
    uint64_t last = survivors->last_ns[MPF_HEAP_PINNED];
    if (survivors->pushed_ns > last) last = survivors->pushed_ns;
    for (unsigned heap = 0; heap < MPR_HEAPS; heap++)
        if (mpf_heap_is_gpu((uint8_t)heap) && survivors->last_ns[heap] > last)
            last = survivors->last_ns[heap];
    const uint64_t rest = mpr_saturating_sub(end, last);
    return rest <= MOMENT_NS || rest <= end / ENDING_SHARE ? last : end;
}

struct mpr_site_growth *mpr_site_growth_find(struct mpr_arena *arena,
                                             const struct mpr_survivors *survivors,
                                             const struct mpr_reader *reader, size_t *count)
{
    const struct mpr_oom *oom = mpr_oom_newest(&reader->replay.gpu);
    /* after memory ran out, the number of allocations until then is not known */
    const struct mpr_survivor_time end = { end_of_work(survivors,
                                                       oom ? oom->time : reader->replay.now),
                                           oom ? 0 : survivors->device_allocs };
    const uint64_t until = oom ? oom->time : end.ns; /* blocks freed later do not count */
    struct site *site = mpr_arena_alloc(arena, (survivors->count + 1) * sizeof *site);
    struct mpr_site_growth *out = mpr_arena_alloc(arena, MPR_HEAPS * sizeof *out);
    *count = 0;
    for (unsigned heap = 0; heap < MPR_HEAPS; heap++) {
        size_t sites = 0;
        for (uint32_t i = 0; i < survivors->count; i++) {
            const struct mpr_survivor *f = &survivors->followed[i];
            const struct mpr_survivors_place *place = &survivors->place[f->place];
            if (place->heap != heap || !rises(f) || !is_in_use(f, end) || f->freed_ns < until)
                continue;
            site[sites++] = (struct site){ f, path_of(arena, reader, place),
                                           kept_bytes(f, place->allocations) };
        }
        if (!sites) continue;
        out[*count] = (struct mpr_site_growth){ .heap = (uint8_t)heap };
        sum_up(arena, &out[(*count)++], survivors, site, sites);
    }
    return out;
}

const struct mpr_site_growth *mpr_site_growth_of(const struct mpr_site_growth *growth, size_t count,
                                                 const struct mpr_log_peaks *log, uint8_t heap)
{
    enum { LEAST_SHARE = 20 };
    const struct mpr_heap_peak *whole = mpr_peaks_heap(log, heap);
    const bool is_programs = mpr_heap_is_device(heap)
                                 ? !mpr_peaks_has_torch(log)
                                 : mpf_heap_is_gpu(heap) || heap == MPF_HEAP_PINNED;
    for (size_t i = 0; whole && is_programs && i < count; i++)
        if (growth[i].heap == heap && growth[i].path.depth &&
            growth[i].kept_bytes >= whole->peak_bytes / LEAST_SHARE)
            return &growth[i];
    return NULL;
}

/* ---- temporaries */

/* Returns the bytes that the site holds between its uses: the maximum that its calls find, except
 * the first one, or the bytes that remain after each pulse if they are fewer.  Pulses count only if
 * the site is used repeatedly: in a cache that fills up, one pulse has most of the allocations.
 * Returns UINT64_MAX if there are too few calls and pulses. */
static uint64_t base_bytes(const struct mpr_survivor *f)
{
    uint64_t found = f->points < 2 ? UINT64_MAX : 0;
    for (uint32_t i = 1; i < f->points; i++)
        if (f->point[i].low > found) found = f->point[i].low;
    const bool has_uses = f->use.count >= FEW_USES && f->use.longest <= f->use.added / 2;
    return has_uses && f->use.floor < found ? f->use.floor : found;
}

/* Returns true if one use was much larger than all others. */
static bool has_outlier(const struct mpr_pulses *p)
{
    return p->count >= MANY_USES && p->second <= p->largest / TIMES_LARGER;
}

/* The temporaries of a line of Python, or of a site without one. */
struct line {
    uint8_t heap;
    uint32_t node, python;
    const struct mpr_survivors_place *place;
    uint64_t bytes;
};

MPR_COMPARE(by_line, struct line,
            mpr_compare(a->heap, b->heap) ?: mpr_compare(a->node, b->node)
                ?: mpr_compare(a->python, b->python)
                ?: (a->python ? 0 : mpr_compare(a->place->site, b->place->site)))

struct mpr_site_temporary *mpr_site_temporaries_find(struct mpr_arena *arena,
                                                     const struct mpr_survivors *survivors,
                                                     const struct mpr_reader *reader, size_t *count)
{
    struct mpr_site_temporary *out = mpr_arena_alloc(arena, MPR_HEAPS * sizeof *out);
    struct line *line = mpr_alloc(survivors->count, sizeof *line);
    size_t lines = 0;
    *count = 0;
    for (uint32_t i = 0; i < survivors->count; i++) {
        const struct mpr_survivor *f = &survivors->followed[i];
        const struct mpr_survivors_place *place = &survivors->place[f->place];
        const uint64_t bytes = mpr_saturating_sub(place->at_peak, base_bytes(f));
        if (!bytes || has_outlier(&f->use)) continue;
        line[lines++] =
            (struct line){ .heap = place->heap,
                           .node = place->node,
                           .python = mpr_sites_of(&reader->replay.sites, place->site).python,
                           .place = place,
                           .bytes = bytes };
    }
    if (lines) qsort(line, lines, sizeof *line, by_line);
    for (size_t i = 0, to; i < lines; i = to) {
        struct mpr_site_temporary t = { .heap = line[i].heap };
        for (to = i; to < lines && by_line(&line[i], &line[to]) == 0; to++) {
            t.bytes += line[to].bytes;
            t.times += line[to].place->allocations;
        }
        if (!*count || out[*count - 1].heap != t.heap)
            out[(*count)++] = (struct mpr_site_temporary){ .heap = t.heap };
        struct mpr_site_temporary *largest = &out[*count - 1];
        t.all = largest->all += t.bytes;
        if (largest->bytes >= t.bytes) continue;
        t.path = path_of(arena, reader, line[i].place);
        t.estimated = mpr_replay_extrapolates(&reader->replay, t.heap);
        *largest = t;
    }
    free(line);
    return out;
}

/* ---- uses */

/* Returns the mean of all uses but the largest one. */
static uint64_t typical_use(const struct mpr_pulses *p)
{
    return (p->sum - p->largest) / (p->count - 1);
}

/* Returns true if one use of the host's heap was much larger than all others, and the others are
 * similar because the program repeats its work.  In a script that loads its data once, the uses
 * before that are imports of very different sizes. */
static bool host_has_outlier(const struct mpr_survivors *s)
{
    const struct mpr_pulses *p = &s->host;
    if (!has_outlier(p) || p->top < s->replay->accounts.heap[MPF_HEAP_HOST].peak_bytes / 4 * 3)
        return false;
    const uint64_t after = p->count - p->before - 1;
    if (p->before < MANY_USES || after < MANY_USES) return false;
    const uint64_t mean_before = p->sum_before / p->before,
                   mean_after = (p->sum - p->largest - p->sum_before) / after;
    return mean_before <= ALIKE_TIMES * mean_after && mean_after <= ALIKE_TIMES * mean_before &&
           p->second / ALIKE_TIMES <= typical_use(p);
}

static void add_use(struct mpr_site_use *use, const struct mpr_pulses *p)
{
    use->bytes += p->largest;
    use->second += p->second;
    use->typical += typical_use(p);
}

struct mpr_site_use *mpr_site_uses_find(struct mpr_arena *arena,
                                        const struct mpr_survivors *survivors,
                                        const struct mpr_reader *reader, size_t *count)
{
    struct mpr_site_use *out = mpr_arena_alloc(arena, (MPR_HEAPS + 1) * sizeof *out);
    *count = 0;
    for (unsigned heap = 0; heap < MPR_HEAPS; heap++) {
        struct mpr_site_use use = { .heap = (uint8_t)heap };
        const struct mpr_survivor *largest = NULL;
        for (uint32_t i = 0; i < survivors->count; i++) {
            const struct mpr_survivor *f = &survivors->followed[i];
            const struct mpr_survivors_place *place = &survivors->place[f->place];
            if (place->heap != heap || !has_outlier(&f->use) ||
                place->at_peak < f->use.largest / 4 * 3)
                continue;
            add_use(&use, &f->use);
            if (!largest || f->use.largest > largest->use.largest) largest = f;
        }
        if (!largest) continue;
        use.path = path_of(arena, reader, &survivors->place[largest->place]);
        use.uses = largest->use.count;
        use.estimated = mpr_replay_extrapolates(&reader->replay, (uint8_t)heap);
        out[(*count)++] = use;
    }
    if (host_has_outlier(survivors)) {
        struct mpr_site_use *use = &out[(*count)++];
        *use = (struct mpr_site_use){ .heap = MPF_HEAP_HOST,
                                      .whole = true,
                                      .uses = survivors->host.count };
        add_use(use, &survivors->host);
    }
    return out;
}

/* ---- segments */

struct mpr_segment_churn *mpr_segment_churn_find(struct mpr_arena *arena,
                                                 const struct mpr_survivors *survivors,
                                                 const struct mpr_reader *reader, size_t *count)
{
    struct mpr_segment_churn *out = mpr_arena_alloc(arena, MPR_HEAPS * sizeof *out);
    const struct mpr_sites *sites = &reader->replay.sites;
    *count = 0;
    for (unsigned heap = 0; heap < MPR_HEAPS; heap++) {
        const struct mpr_survivors_place *owner = NULL;
        struct mpr_segment_churn churn = { .heap = (uint8_t)heap };
        uint64_t largest = 0;
        if (mpf_heap_code((uint8_t)heap) != MPF_HEAP_DEVICE) continue;
        for (uint32_t i = 0; i < survivors->count; i++) {
            const struct mpr_pulses *use = &survivors->followed[i].use;
            const struct mpr_survivors_place *place =
                &survivors->place[survivors->followed[i].place];
            if (place->heap != heap || use->count < MANY_USES || use->floor > use->largest / 2 ||
                !mpr_sites_for_torch(sites, mpr_sites_of(sites, place->site).stack))
                continue;
            const uint64_t each = use->sum / use->count;
            churn.bytes += each;
            if (use->count > churn.times) churn.times = use->count;
            if (each <= largest) continue;
            largest = each;
            owner = place;
        }
        if (!owner) continue;
        churn.path = path_of(arena, reader, owner);
        out[(*count)++] = churn;
    }
    return out;
}
