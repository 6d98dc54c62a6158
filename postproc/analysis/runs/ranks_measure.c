/* The values by which ranks are compared, the ranks that are outliers, and the causes of their
 * differences. A rank is compared with all ranks. If a partition of the ranks by communicators
 * also separates the peaks, it is compared with the ranks of its class, called a stage. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "outliers.h"
#include "ranks.h"

struct mpr_ranks_class mpr_ranks_class_of(const uint64_t *value, const size_t *rank, size_t ranks)
{
    struct mpr_ranks_class c = { .rank = rank, .ranks = ranks, .min = UINT64_MAX };
    uint64_t *own = mpr_alloc(ranks, sizeof *own);
    for (size_t i = 0; i < ranks; i++) own[i] = value[rank[i]];
    c.median = mpr_outliers_median(own, ranks);
    for (size_t i = ranks; i-- > 0;) {
        if (own[i] == c.median) c.median_rank = rank[i];
        if (own[i] <= c.min) c.min = value[c.min_rank = rank[i]];
        if (own[i] >= c.max) c.max = value[c.max_rank = rank[i]];
    }
    free(own);
    return c;
}

const struct mpr_digest_heap *mpr_ranks_heap(const struct mpr_digest *d, unsigned kind)
{
    const struct mpr_digest_heap *found = NULL;
    for (size_t i = 0; i < d->heaps; i++)
        if (mpf_heap_code(d->heap[i].heap) == kind &&
            (!found || d->heap[i].peak_bytes > found->peak_bytes))
            found = &d->heap[i];
    return found;
}

uint64_t mpr_ranks_peak_on(const struct mpr_digest *d, unsigned kind, uint64_t device)
{
    for (size_t i = 0; i < d->heaps; i++)
        if (d->heap[i].heap == mpf_heap_gpu(kind, (unsigned)device)) return d->heap[i].peak_bytes;
    return 0;
}

/* Returns the device on which the rank allocated most, or NULL if its used bytes are unknown. */
static const struct mpr_digest_device *device_of(const struct mpr_digest *d)
{
    const struct mpr_digest_device *found = NULL;
    uint64_t most = 0;
    for (size_t i = 0; i < d->devices; i++) {
        const uint64_t own = mpr_ranks_peak_on(d, MPF_HEAP_DEVICE, d->device[i].device);
        if (found && own <= most) continue;
        found = &d->device[i];
        most = own;
    }
    return found && found->used_bytes != UINT64_MAX ? found : NULL;
}

/* ---- values */

/* Returns the measure of a kind of heap, or of a part of a device's account, and adds it if it
 * is new.
 * @kind: MPF_HEAP_NONE for a part. @part: its key, or NULL for a heap. */
static struct mpr_ranks_measure *measure_of(struct mpr_ranks *r, size_t *cap, unsigned kind,
                                            const char *part, const char *name)
{
    for (size_t i = 0; i < r->measures; i++)
        if (part ? r->measure[i].part && strcmp(r->measure[i].part, part) == 0
                 : r->measure[i].kind == kind)
            return &r->measure[i];
    MPR_GROW(r->measure, r->measures, *cap);
    struct mpr_ranks_measure *m = &r->measure[r->measures++];
    *m = (struct mpr_ranks_measure){ .kind = kind, .part = part, .name = name };
    m->value = mpr_arena_alloc(&r->arena, r->ranks * sizeof *m->value);
    return m;
}

/* Heaps precede parts; largest median first. */
MPR_COMPARE(by_size, struct mpr_ranks_measure,
            mpr_compare(a->part != NULL, b->part != NULL) ?: mpr_compare(b->all.median, a->all.median)
                                                          ?: mpr_compare(b->all.max, a->all.max)
                                                          ?: strcmp(a->name, b->name))

/* Finds the measures. A heap that ranks have on different devices is called "gpuN/torch". The
 * remainder of an account may be negative, and then counts as 0. */
static void find_measures(struct mpr_ranks *r)
{
    size_t cap = 0;
    for (size_t i = 0; i < r->ranks; i++) {
        const struct mpr_digest *d = r->rank[i].digest;
        for (const struct mpr_digest_heap *h = d->heap; h < d->heap + d->heaps; h++) {
            const char *name = mpr_heap_name(h->heap);
            struct mpr_ranks_measure *m = measure_of(r, &cap, mpf_heap_code(h->heap), NULL, name);
            if (m->name != name)
                m->name = mpr_arena_format(&r->arena, "gpuN%s", name + strcspn(name, "/"));
            m->inside |= h->inside != MPF_HEAP_NONE;
            m->estimated |= h->estimated;
            if (h->peak_bytes > m->value[i]) m->value[i] = h->peak_bytes;
        }
    }
    for (size_t i = 0; i < r->ranks; i++) {
        const struct mpr_digest *d = r->rank[i].digest;
        const struct mpr_digest_device *device = device_of(d);
        for (size_t k = 0; device && k < d->parts; k++) {
            const struct mpr_digest_part *p = &d->part[k];
            if (p->device != device->device || p->bytes <= 0) continue;
            measure_of(r, &cap, MPF_HEAP_NONE, p->part, p->name)->value[i] = (uint64_t)p->bytes;
        }
    }
    size_t *every = mpr_arena_alloc(&r->arena, r->ranks * sizeof *every);
    for (size_t i = 0; i < r->ranks; i++) every[i] = i;
    for (struct mpr_ranks_measure *m = r->measure; m < r->measure + r->measures; m++)
        m->all = mpr_ranks_class_of(m->value, every, r->ranks);
    struct mpr_ranks_measure *grown = r->measure;
    r->measure = mpr_arena_alloc(&r->arena, r->measures * sizeof *r->measure);
    if (r->measures) {
        memcpy(r->measure, grown, r->measures * sizeof *grown);
        qsort(r->measure, r->measures, sizeof *r->measure, by_size);
    }
    free(grown);
}

/* ---- classes of ranks */

static struct mpr_ranks_class class_of(const struct mpr_ranks_measure *m,
                                       const struct mpr_ranks_split *s, size_t k)
{
    return mpr_ranks_class_of(m->value, s->rank + s->begin[k], s->begin[k + 1] - s->begin[k]);
}

/* Returns the sum of the distances of the ranks' values from their median. */
static double distances(const struct mpr_ranks_measure *m, const struct mpr_ranks_class *c)
{
    double sum = 0;
    for (size_t i = 0; i < c->ranks; i++)
        sum += fabs((double)mpr_signed_difference(c->median, m->value[c->rank[i]]));
    return sum;
}

/* Returns the partition into stages, or NULL. The medians of the stages must differ by more than
 * a twentieth of the median of all ranks, and the distances within stages must be at most a
 * quarter of those of all ranks. A finer partition must reduce them by another eighth. */
static const struct mpr_ranks_split *choose_stages(const struct mpr_ranks *r,
                                                   const struct mpr_ranks_measure *m)
{
    const double whole = distances(m, &m->all);
    const struct mpr_ranks_split *best = NULL;
    double best_sum = whole;
    for (const struct mpr_ranks_split *s = r->split; s < r->split + r->splits; s++) {
        double sum = 0;
        uint64_t min = UINT64_MAX, max = 0;
        for (size_t k = 0; k < s->classes; k++) {
            const struct mpr_ranks_class c = class_of(m, s, k);
            sum += distances(m, &c);
            if (c.median < min) min = c.median;
            if (c.median > max) max = c.median;
        }
        if (max - min <= m->all.median / 20 || sum > whole / 4 || best_sum - sum < whole / 8)
            continue;
        best = s;
        best_sum = sum;
    }
    return best;
}

/* ---- outliers of a class, and stages */

/* Returns true if two ranks differ enough to be reported: by at least 1 % of the larger peak of
 * the two ranks, and by 64 MiB or a tenth of that peak. */
static bool differ(const struct mpr_ranks *r, const struct mpr_ranks_measure *m, size_t a, size_t b)
{
    enum { LARGE_BYTES = 64 << 20, TENTH = 10, HUNDREDTH = 100 };
    const uint64_t x = m->value[a], y = m->value[b], difference = x > y ? x - y : y - x,
                   peak = r->rank[a].peak > r->rank[b].peak ? r->rank[a].peak : r->rank[b].peak;
    return difference >= peak / HUNDREDTH &&
           (difference >= LARGE_BYTES || difference >= peak / TENTH);
}

static struct mpr_ranks_outlier difference(const struct mpr_ranks *r, size_t measure, size_t rank,
                                           size_t usual)
{
    const uint64_t *value = r->measure[measure].value;
    return (struct mpr_ranks_outlier){ .rank = rank,
                                       .measure = measure,
                                       .reference = usual,
                                       .change = mpr_signed_difference(value[usual], value[rank]) };
}

/* Adds the outliers of a class, and returns their number. Sets *within to the largest difference
 * between its other ranks. */
static size_t add_outliers(const struct mpr_ranks *r, struct mpr_ranks_measure *m,
                           const struct mpr_ranks_class *c, uint64_t *within)
{
    size_t *place = mpr_alloc(c->ranks, sizeof *place), outliers = 0;
    uint64_t *value = mpr_alloc(c->ranks, sizeof *value), min = UINT64_MAX, max = 0;
    bool *is_outlier = mpr_alloc(c->ranks, sizeof *is_outlier);
    for (size_t i = 0; i < c->ranks; i++) value[i] = m->value[c->rank[i]];
    const size_t count = mpr_outliers_find(value, c->ranks, place);
    for (size_t i = 0; i < count; i++) {
        const size_t rank = c->rank[place[i]];
        if (!differ(r, m, rank, c->median_rank)) continue;
        is_outlier[place[i]] = true;
        m->outlier[m->outliers++] = rank;
        outliers++;
    }
    for (size_t i = 0; i < c->ranks; i++) {
        m->reference[c->rank[i]] = c->median_rank;
        if (is_outlier[i]) continue;
        if (value[i] < min) min = value[i];
        if (value[i] > max) max = value[i];
    }
    *within = max - min;
    free(place);
    free(value);
    free(is_outlier);
    return outliers;
}

static int by_distance(const void *left, const void *right, void *arg)
{
    const struct mpr_ranks_measure *m = arg;
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    const int64_t x = llabs(mpr_signed_difference(m->value[m->reference[a]], m->value[a])),
                  y = llabs(mpr_signed_difference(m->value[m->reference[b]], m->value[b]));
    return mpr_compare_signed(y, x) ?: mpr_compare(a, b);
}

MPR_COMPARE(by_difference, struct mpr_ranks_stage,
            mpr_compare_signed(llabs(b->differs.change), llabs(a->differs.change))
                ?: mpr_compare(a->differs.rank, b->differs.rank))

/* Finds the stages of a measure, and the outliers within stages, or among all ranks. */
static void judge(struct mpr_ranks *r, size_t measure)
{
    struct mpr_ranks_measure *m = &r->measure[measure];
    uint64_t within;
    m->reference = mpr_arena_alloc(&r->arena, r->ranks * sizeof *m->reference);
    m->outlier = mpr_arena_alloc(&r->arena, r->ranks * sizeof *m->outlier);
    m->split = choose_stages(r, m);
    if (m->split) m->stage = mpr_arena_alloc(&r->arena, m->split->classes * sizeof *m->stage);
    else add_outliers(r, m, &m->all, &within);
    for (size_t k = 0; m->split && k < m->split->classes; k++) {
        const struct mpr_ranks_class c = class_of(m, m->split, k);
        m->stage[k] = (struct mpr_ranks_stage){
            .members = mpr_ranks_set(r, &r->arena, c.rank, c.ranks),
            .values = c,
            .outliers = add_outliers(r, m, &c, &within),
            .differs = difference(r, measure, c.median_rank, m->all.median_rank),
        };
        if (within > m->within) m->within = within;
    }
    if (m->split) qsort(m->stage, m->split->classes, sizeof *m->stage, by_difference);
    if (m->outliers) qsort_r(m->outlier, m->outliers, sizeof *m->outlier, by_distance, m);
}

/* ---- outliers */

MPR_COMPARE(by_change, struct mpr_ranks_outlier,
            mpr_compare_signed(llabs(b->change), llabs(a->change)) ?: mpr_compare(a->rank, b->rank))

/* Lists each outlier once, in the heap in which it is farthest from its reference. */
static void find_outliers(struct mpr_ranks *r)
{
    struct mpr_ranks_outlier *outlier = mpr_arena_alloc(&r->arena, r->ranks * sizeof *outlier);
    for (size_t k = 0; k < r->measures; k++) {
        const struct mpr_ranks_measure *m = &r->measure[k];
        for (size_t i = 0; !m->part && !m->inside && i < m->outliers; i++) {
            const size_t rank = m->outlier[i];
            const struct mpr_ranks_outlier o = difference(r, k, rank, m->reference[rank]);
            if (llabs(o.change) > llabs(outlier[rank].change)) outlier[rank] = o;
        }
    }
    for (size_t i = 0; i < r->ranks; i++)
        if (outlier[i].change) outlier[r->outliers++] = outlier[i];
    r->outlier = outlier;
    if (r->outliers) qsort(outlier, r->outliers, sizeof *outlier, by_change);
}

/* If there are two ranks, compares the rank that holds more of a heap with the other rank. */
static void compare_pair(struct mpr_ranks *r)
{
    for (size_t i = 0; r->ranks == 2 && i < r->measures; i++) {
        const struct mpr_ranks_measure *m = &r->measure[i];
        if (m->part || m->inside || !differ(r, m, 0, 1)) continue;
        const struct mpr_ranks_outlier o = difference(r, i, m->all.max_rank, m->all.min_rank);
        if (r->pair && o.change <= r->pair->change) continue;
        if (!r->pair) r->pair = mpr_arena_alloc(&r->arena, sizeof *r->pair);
        *r->pair = o;
    }
}

/* Returns the measure in which ranks differ most. If none is an outlier, returns the largest
 * heap, with PyTorch's blocks instead of their segments. */
static size_t choose_shown(const struct mpr_ranks *r)
{
    size_t found = 0;
    if (r->outliers) return r->outlier[0].measure;
    while (found < r->measures && (r->measure[found].inside || r->measure[found].part)) found++;
    if (found == r->measures) return 0;
    for (size_t i = 0; r->measure[found].kind == MPF_HEAP_DEVICE && i < r->measures; i++)
        if (r->measure[i].kind == MPF_HEAP_TORCH) found = i;
    return found;
}

/* ---- causes */

/* The paired lines of two ranks, or paired parts of their devices' accounts. */
struct causes {
    struct mpr_ranks_cause *at;
    size_t count;
};

static struct mpr_ranks_cause *cause_of(struct causes *all, const char *alike, const char *caller)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->at[i].alike, alike) == 0 && strcmp(all->at[i].caller, caller) == 0)
            return &all->at[i];
    all->at[all->count] = (struct mpr_ranks_cause){ .alike = alike, .caller = caller };
    return &all->at[all->count++];
}

/* Adds the lines of the rank (@of_rank, first), or of its reference. If several of its lines
 * have one `alike` text, that becomes the path. */
static void add_lines(struct causes *all, const struct mpr_digest *d, unsigned kind, bool of_rank)
{
    const struct mpr_digest_heap *heap = mpr_ranks_heap(d, kind);
    for (size_t i = 0; heap && i < d->lines; i++) {
        const struct mpr_digest_line *l = &d->line[i];
        if (l->heap != heap->heap || !l->bytes) continue;
        struct mpr_ranks_cause *c = cause_of(all, l->alike, l->caller);
        uint64_t *bytes = of_rank ? &c->bytes : &c->reference;
        if (!c->path) c->path = *l->alike ? l->path : "smaller lines";
        else if (*bytes && (of_rank || !c->bytes) && *c->alike) c->path = c->alike;
        *bytes += l->bytes;
        c->estimated |= l->estimated;
    }
}

/* Adds the parts of an account, without the memory of other processes. */
static void add_parts(struct causes *all, const struct mpr_digest *d, bool of_rank)
{
    const struct mpr_digest_device *device = device_of(d);
    for (size_t i = 0; device && i < d->parts; i++) {
        const struct mpr_digest_part *p = &d->part[i];
        if (p->device != device->device || p->bytes <= 0 || strcmp(p->part, "other_processes") == 0)
            continue;
        struct mpr_ranks_cause *c = cause_of(all, p->part, "");
        c->path = p->name;
        *(of_rank ? &c->bytes : &c->reference) += (uint64_t)p->bytes;
    }
}

/* Largest growth first, and largest reduction first. */
MPR_COMPARE(by_growth, struct mpr_ranks_cause,
            mpr_compare_signed(b->change, a->change) ?: strcmp(a->alike, b->alike)
                                                     ?: strcmp(a->caller, b->caller))
MPR_COMPARE(by_shrinkage, struct mpr_ranks_cause,
            mpr_compare_signed(a->change, b->change) ?: strcmp(a->alike, b->alike)
                                                     ?: strcmp(a->caller, b->caller))

/* Returns the causes that changed, largest in the direction of the whole change first, and frees
 * the list. */
static struct mpr_ranks_cause *finish(struct mpr_ranks *r, struct causes *all, bool grew,
                                      size_t *count)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++) {
        all->at[i].change = mpr_signed_difference(all->at[i].reference, all->at[i].bytes);
        if (all->at[i].change) all->at[kept++] = all->at[i];
    }
    struct mpr_ranks_cause *cause = mpr_arena_alloc(&r->arena, kept * sizeof *cause);
    if (kept) {
        memcpy(cause, all->at, kept * sizeof *cause);
        qsort(cause, kept, sizeof *cause, grew ? by_growth : by_shrinkage);
    }
    *count = kept;
    free(all->at);
    return cause;
}

/* Finds the causes in the lines of the measure, and in the device's account. If PyTorch's blocks
 * differ by at least half as much as its segments, blocks are the cause, because a segment has
 * the range that needed it first, and a block has its own. */
static void explain(struct mpr_ranks *r, struct mpr_ranks_outlier *o)
{
    const struct mpr_digest *rank = r->rank[o->rank].digest,
                            *reference = r->rank[o->reference].digest;
    const unsigned kind = r->measure[o->measure].kind;
    const int64_t least = o->change / 2;
    o->cause_measure = o->measure;
    for (size_t i = r->measures; kind == MPF_HEAP_DEVICE && i-- > 0;) {
        const struct mpr_ranks_measure *m = &r->measure[i];
        const int64_t change = mpr_signed_difference(m->value[o->reference], m->value[o->rank]);
        if (m->kind == MPF_HEAP_TORCH && (o->change > 0 ? change >= least : change <= least))
            o->cause_measure = i;
    }
    const unsigned lines_kind = r->measure[o->cause_measure].kind;
    struct causes lines = { mpr_alloc(rank->lines + reference->lines, sizeof *lines.at), 0 };
    add_lines(&lines, rank, lines_kind, true);
    add_lines(&lines, reference, lines_kind, false);
    o->cause = finish(r, &lines, o->change > 0, &o->causes);
    if (!mpf_heap_is_gpu(kind)) return;
    struct causes parts = { mpr_alloc(rank->parts + reference->parts, sizeof *parts.at), 0 };
    add_parts(&parts, rank, true);
    add_parts(&parts, reference, false);
    o->part = finish(r, &parts, o->change > 0, &o->parts);
}

void mpr_ranks_measure(struct mpr_ranks *r)
{
    find_measures(r);
    for (size_t i = 0; i < r->measures; i++) judge(r, i);
    find_outliers(r);
    compare_pair(r);
    r->shown = choose_shown(r);
    for (size_t i = 0; i < r->outliers; i++) explain(r, &r->outlier[i]);
    if (r->pair) explain(r, r->pair);
    for (size_t i = 0; i < r->measures; i++)
        for (size_t k = 0; r->measure[i].split && k < r->measure[i].split->classes; k++)
            explain(r, &r->measure[i].stage[k].differs);
}
