/* The numbers by which ranks are compared, the ranks that are outliers, and the causes of their
 * differences.  A rank is compared with all ranks, or with those of its stage, if a partition of
 * the ranks by communicators also separates the peaks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "outliers.h"
#include "ranks.h"

struct mpr_ranks_class mpr_ranks_class_of(const uint64_t *value, const size_t *rank, size_t ranks)
{
    struct mpr_ranks_class c = { .rank = rank, .ranks = ranks, .least = UINT64_MAX };
    uint64_t *own = mpr_alloc(ranks, sizeof *own);
    for (size_t i = 0; i < ranks; i++) own[i] = value[rank[i]];
    c.median = mpr_outliers_median(own, ranks);
    for (size_t i = ranks; i-- > 0;) {
        if (own[i] == c.median) c.median_rank = rank[i];
        if (own[i] <= c.least) c.least = value[c.least_rank = rank[i]];
        if (own[i] >= c.most) c.most = value[c.most_rank = rank[i]];
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

/* Returns the device on which the rank allocated most, or NULL if its use is unknown. */
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

/* Returns the measure of a kind of heap, or of a part of a device's account; made when new.
 * @kind: MPF_HEAP_NONE for a part.  @part: its key, NULL for a heap. */
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

/* Heaps are before parts, the largest first. */
MPR_COMPARE(by_size, struct mpr_ranks_measure,
            mpr_compare(a->part != NULL, b->part != NULL) ?: mpr_compare(b->all.median, a->all.median)
                                                          ?: mpr_compare(b->all.most, a->all.most)
                                                          ?: strcmp(a->name, b->name))

/* Finds heaps, then parts.  A heap that ranks have on different devices is called "gpuN/torch".  A
 * part that is the remainder of a sum may be negative; it counts as 0. */
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

/* Returns the sum of the ranks' distances from the median. */
static double distances(const struct mpr_ranks_measure *m, const struct mpr_ranks_class *c)
{
    double sum = 0;
    for (size_t i = 0; i < c->ranks; i++)
        sum += fabs((double)mpr_signed_difference(c->median, m->value[c->rank[i]]));
    return sum;
}

/* Returns the partition into stages, or NULL.  The medians of stages differ by more than a
 * twentieth of the median.  Stages leave at most a quarter of the distances from the median; a
 * finer partition must take away another eighth. */
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

/* Returns true if the two ranks differ in a measure by at least 1 % of the larger one's largest
 * peak, and by 64 MiB or a tenth of it.  Smaller differences are not reported. */
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
                                       .usual = usual,
                                       .change = mpr_signed_difference(value[usual], value[rank]) };
}

/* Adds the outliers of a class.  *within: the largest difference of its other ranks.  Returns the
 * number of outliers. */
static size_t find_apart(const struct mpr_ranks *r, struct mpr_ranks_measure *m,
                         const struct mpr_ranks_class *c, uint64_t *within)
{
    size_t *apart = mpr_alloc(c->ranks, sizeof *apart), aparts = 0;
    uint64_t *value = mpr_alloc(c->ranks, sizeof *value), min = UINT64_MAX, max = 0;
    bool *is_apart = mpr_alloc(c->ranks, sizeof *is_apart);
    for (size_t i = 0; i < c->ranks; i++) value[i] = m->value[c->rank[i]];
    const size_t count = mpr_outliers_find(value, c->ranks, apart);
    for (size_t i = 0; i < count; i++) {
        const size_t rank = c->rank[apart[i]];
        if (!differ(r, m, rank, c->median_rank)) continue;
        is_apart[apart[i]] = true;
        m->apart[m->aparts++] = rank;
        aparts++;
    }
    for (size_t i = 0; i < c->ranks; i++) {
        m->usual[c->rank[i]] = c->median_rank;
        if (is_apart[i]) continue;
        if (value[i] < min) min = value[i];
        if (value[i] > max) max = value[i];
    }
    *within = max - min;
    free(apart);
    free(value);
    free(is_apart);
    return aparts;
}

static int by_distance(const void *left, const void *right, void *arg)
{
    const struct mpr_ranks_measure *m = arg;
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    const int64_t x = llabs(mpr_signed_difference(m->value[m->usual[a]], m->value[a])),
                  y = llabs(mpr_signed_difference(m->value[m->usual[b]], m->value[b]));
    return mpr_compare_signed(y, x) ?: mpr_compare(a, b);
}

MPR_COMPARE(by_difference, struct mpr_ranks_stage,
            mpr_compare_signed(llabs(b->differs.change), llabs(a->differs.change))
                ?: mpr_compare(a->differs.rank, b->differs.rank))

/* Finds the measure's stages, and the outliers in these, or among all ranks. */
static void judge(struct mpr_ranks *r, size_t measure)
{
    struct mpr_ranks_measure *m = &r->measure[measure];
    uint64_t within;
    m->usual = mpr_arena_alloc(&r->arena, r->ranks * sizeof *m->usual);
    m->apart = mpr_arena_alloc(&r->arena, r->ranks * sizeof *m->apart);
    m->split = choose_stages(r, m);
    if (m->split) m->stage = mpr_arena_alloc(&r->arena, m->split->classes * sizeof *m->stage);
    else find_apart(r, m, &m->all, &within);
    for (size_t k = 0; m->split && k < m->split->classes; k++) {
        const struct mpr_ranks_class c = class_of(m, m->split, k);
        m->stage[k] = (struct mpr_ranks_stage){
            .members = mpr_ranks_set(r, &r->arena, c.rank, c.ranks),
            .of = c,
            .apart = find_apart(r, m, &c, &within),
            .differs = difference(r, measure, c.median_rank, m->all.median_rank),
        };
        if (within > m->within) m->within = within;
    }
    if (m->split) qsort(m->stage, m->split->classes, sizeof *m->stage, by_difference);
    if (m->aparts) qsort_r(m->apart, m->aparts, sizeof *m->apart, by_distance, m);
}

/* ---- outliers */

MPR_COMPARE(by_change, struct mpr_ranks_outlier,
            mpr_compare_signed(llabs(b->change), llabs(a->change)) ?: mpr_compare(a->rank, b->rank))

/* Reports each rank once, by the heap in which it is farthest away. */
static void find_outliers(struct mpr_ranks *r)
{
    struct mpr_ranks_outlier *of = mpr_arena_alloc(&r->arena, r->ranks * sizeof *of);
    for (size_t k = 0; k < r->measures; k++) {
        const struct mpr_ranks_measure *m = &r->measure[k];
        for (size_t i = 0; !m->part && !m->inside && i < m->aparts; i++) {
            const size_t rank = m->apart[i];
            const struct mpr_ranks_outlier o = difference(r, k, rank, m->usual[rank]);
            if (llabs(o.change) > llabs(of[rank].change)) of[rank] = o;
        }
    }
    for (size_t i = 0; i < r->ranks; i++)
        if (of[i].change) of[r->outliers++] = of[i];
    r->outlier = of;
    if (r->outliers) qsort(of, r->outliers, sizeof *of, by_change);
}

/* If there are two ranks, the rank that holds more of a heap is compared with the other. */
static void compare_pair(struct mpr_ranks *r)
{
    for (size_t i = 0; r->ranks == 2 && i < r->measures; i++) {
        const struct mpr_ranks_measure *m = &r->measure[i];
        if (m->part || m->inside || !differ(r, m, 0, 1)) continue;
        const struct mpr_ranks_outlier o = difference(r, i, m->all.most_rank, m->all.least_rank);
        if (r->pair && o.change <= r->pair->change) continue;
        if (!r->pair) r->pair = mpr_arena_alloc(&r->arena, sizeof *r->pair);
        *r->pair = o;
    }
}

/* Returns the measure in which ranks differ most; else the largest, PyTorch's blocks rather than
 * their segments. */
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

/* The lines of two ranks, or the parts of their devices' accounts, paired if they are alike. */
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

/* Adds the lines of a rank; @here: those of the outlier, which come first.  If several lines of the
 * rank that names the path are alike, the name is their common part. */
static void add_lines(struct causes *all, const struct mpr_digest *d, unsigned kind, bool here)
{
    const struct mpr_digest_heap *heap = mpr_ranks_heap(d, kind);
    for (size_t i = 0; heap && i < d->lines; i++) {
        const struct mpr_digest_line *l = &d->line[i];
        if (l->heap != heap->heap || !l->bytes) continue;
        struct mpr_ranks_cause *c = cause_of(all, l->alike, l->caller);
        uint64_t *bytes = here ? &c->here : &c->median;
        if (!c->path) c->path = *l->alike ? l->path : "smaller lines";
        else if (*bytes && (here || !c->here) && *c->alike) c->path = c->alike;
        *bytes += l->bytes;
        c->estimated |= l->estimated;
    }
}

/* Adds the parts of the rank's own memory. */
static void add_parts(struct causes *all, const struct mpr_digest *d, bool here)
{
    const struct mpr_digest_device *device = device_of(d);
    for (size_t i = 0; device && i < d->parts; i++) {
        const struct mpr_digest_part *p = &d->part[i];
        if (p->device != device->device || p->bytes <= 0 || strcmp(p->part, "other_processes") == 0)
            continue;
        struct mpr_ranks_cause *c = cause_of(all, p->part, "");
        c->path = p->name;
        *(here ? &c->here : &c->median) += (uint64_t)p->bytes;
    }
}

/* The largest growth comes first. */
MPR_COMPARE(by_growth, struct mpr_ranks_cause,
            mpr_compare_signed(b->change, a->change) ?: strcmp(a->alike, b->alike)
                                                     ?: strcmp(a->caller, b->caller))
MPR_COMPARE(by_shrinkage, struct mpr_ranks_cause,
            mpr_compare_signed(a->change, b->change) ?: strcmp(a->alike, b->alike)
                                                     ?: strcmp(a->caller, b->caller))

/* Returns the causes that changed, the largest in the direction of the whole change first, and
 * frees the others. */
static struct mpr_ranks_cause *finish(struct mpr_ranks *r, struct causes *all, bool grew,
                                      size_t *count)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++) {
        all->at[i].change = mpr_signed_difference(all->at[i].median, all->at[i].here);
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

/* Finds the causes in the lines of the measure, and in the device's account.  PyTorch's blocks
 * explain a device if they differ by at least half of the bytes of the segments, because a segment
 * has the range that needed it first, and a block its own. */
static void explain(struct mpr_ranks *r, struct mpr_ranks_outlier *o)
{
    const struct mpr_digest *here = r->rank[o->rank].digest, *median = r->rank[o->usual].digest;
    const unsigned kind = r->measure[o->measure].kind;
    const int64_t least = o->change / 2;
    o->lines_of = o->measure;
    for (size_t i = r->measures; kind == MPF_HEAP_DEVICE && i-- > 0;) {
        const struct mpr_ranks_measure *m = &r->measure[i];
        const int64_t change = mpr_signed_difference(m->value[o->usual], m->value[o->rank]);
        if (m->kind == MPF_HEAP_TORCH && (o->change > 0 ? change >= least : change <= least))
            o->lines_of = i;
    }
    const unsigned of = r->measure[o->lines_of].kind;
    struct causes lines = { mpr_alloc(here->lines + median->lines, sizeof *lines.at), 0 };
    add_lines(&lines, here, of, true);
    add_lines(&lines, median, of, false);
    o->cause = finish(r, &lines, o->change > 0, &o->causes);
    if (!mpf_heap_is_gpu(kind)) return;
    struct causes parts = { mpr_alloc(here->parts + median->parts, sizeof *parts.at), 0 };
    add_parts(&parts, here, true);
    add_parts(&parts, median, false);
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
