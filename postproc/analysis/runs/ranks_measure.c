/* The numbers by which ranks are compared, and the ranks that are outliers: among all ranks, or in
 * their stage, if a partition of the ranks by communicators also separates the peaks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "outliers.h"
#include "ranks_parts.h"

const struct mpr_digest_heap *mpr_ranks_heap(const struct mpr_digest *d, unsigned kind)
{
    const struct mpr_digest_heap *found = NULL;
    for (size_t i = 0; i < d->heaps; i++)
        if (mpf_heap_code(d->heap[i].heap) == kind &&
            (!found || d->heap[i].peak_bytes > found->peak_bytes))
            found = &d->heap[i];
    return found;
}

static uint64_t allocated_on(const struct mpr_digest *d, uint64_t device)
{
    for (size_t i = 0; i < d->heaps; i++)
        if (d->heap[i].heap == mpf_heap_gpu(MPF_HEAP_DEVICE, (unsigned)device))
            return d->heap[i].peak_bytes;
    return 0;
}

const struct mpr_digest_device *mpr_ranks_device(const struct mpr_digest *d)
{
    const struct mpr_digest_device *found = NULL;
    uint64_t most = 0;
    for (size_t i = 0; i < d->devices; i++) {
        const uint64_t own = allocated_on(d, d->device[i].device);
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

/* A heap that ranks have on different devices is called "gpuN/torch". */
static void add_heap(struct mpr_ranks *r, size_t *cap, size_t rank, const struct mpr_digest_heap *h)
{
    const char *name = mpr_heap_name(h->heap);
    struct mpr_ranks_measure *m = measure_of(r, cap, mpf_heap_code(h->heap), NULL, name);
    if (m->name != name) m->name = mpr_arena_format(&r->arena, "gpuN%s", name + strcspn(name, "/"));
    m->inside |= h->inside != MPF_HEAP_NONE;
    m->estimated |= h->estimated;
    if (h->peak_bytes > m->value[rank]) m->value[rank] = h->peak_bytes;
}

/* A part that is the remainder of a sum may be negative; it counts as 0. */
static void add_parts(struct mpr_ranks *r, size_t *cap, size_t rank)
{
    const struct mpr_digest *d = r->rank[rank].digest;
    const struct mpr_digest_device *device = mpr_ranks_device(d);
    for (size_t i = 0; device && i < d->parts; i++) {
        const struct mpr_digest_part *p = &d->part[i];
        if (p->device != device->device || p->bytes <= 0) continue;
        measure_of(r, cap, MPF_HEAP_NONE, p->part, p->name)->value[rank] = (uint64_t)p->bytes;
    }
}

static void summarize(const struct mpr_ranks *r, struct mpr_ranks_measure *m)
{
    m->median = mpr_outliers_median(m->value, r->ranks);
    m->least = UINT64_MAX;
    for (size_t i = r->ranks; i-- > 0;) {
        if (m->value[i] == m->median) m->median_rank = i;
        if (m->value[i] <= m->least) m->least = m->value[m->least_rank = i];
        if (m->value[i] >= m->most) m->most = m->value[m->most_rank = i];
    }
}

static int by_size(const void *left, const void *right)
{
    const struct mpr_ranks_measure *a = left, *b = right;
    if (!a->part != !b->part) return a->part ? 1 : -1;
    if (a->median != b->median) return a->median > b->median ? -1 : 1;
    if (a->most != b->most) return a->most > b->most ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void find_measures(struct mpr_ranks *r)
{
    size_t cap = 0;
    for (size_t i = 0; i < r->ranks; i++)
        for (size_t k = 0; k < r->rank[i].digest->heaps; k++)
            add_heap(r, &cap, i, &r->rank[i].digest->heap[k]);
    for (size_t i = 0; i < r->ranks; i++) add_parts(r, &cap, i);
    for (size_t i = 0; i < r->measures; i++) summarize(r, &r->measure[i]);
    struct mpr_ranks_measure *grown = r->measure;
    r->measure = mpr_arena_alloc(&r->arena, r->measures * sizeof *r->measure);
    if (r->measures) {
        memcpy(r->measure, grown, r->measures * sizeof *grown);
        qsort(r->measure, r->measures, sizeof *r->measure, by_size);
    }
    free(grown);
}

/* ---- classes of ranks */

struct class {
    const size_t *rank;
    size_t ranks;
    uint64_t *value; /* by rank of the class; allocated */
    uint64_t median;
};

static struct class class_of(const struct mpr_ranks_measure *m, const size_t *rank, size_t ranks)
{
    struct class c = { rank, ranks, mpr_alloc(ranks, sizeof *c.value), 0 };
    for (size_t i = 0; i < ranks; i++) c.value[i] = m->value[rank[i]];
    c.median = mpr_outliers_median(c.value, ranks);
    return c;
}

static struct class class_at(const struct mpr_ranks_measure *m, const struct mpr_ranks_split *s,
                             size_t k)
{
    return class_of(m, s->rank + s->begin[k], s->begin[k + 1] - s->begin[k]);
}

static size_t median_rank(const struct class *c)
{
    size_t i = 0;
    while (c->value[i] != c->median) i++;
    return c->rank[i];
}

/* Returns the sum of the ranks' distances from the median. */
static double distances(const struct class *c)
{
    double sum = 0;
    for (size_t i = 0; i < c->ranks; i++)
        sum += fabs((double)mpr_signed_difference(c->median, c->value[i]));
    return sum;
}

/* Returns the distances within the classes; infinite if the classes' medians do not differ. */
static double distances_within(const struct mpr_ranks_measure *m, const struct mpr_ranks_split *s)
{
    enum { TWENTIETH = 20 };
    double sum = 0;
    uint64_t min = UINT64_MAX, max = 0;
    for (size_t k = 0; k < s->classes; k++) {
        struct class c = class_at(m, s, k);
        sum += distances(&c);
        if (c.median < min) min = c.median;
        if (c.median > max) max = c.median;
        free(c.value);
    }
    return max - min > m->median / TWENTIETH ? sum : INFINITY;
}

/* Returns the partition into stages, or NULL.  Stages leave at most a quarter of the distances from
 * the median; a finer partition must take away another eighth. */
static const struct mpr_ranks_split *choose_stages(const struct mpr_ranks *r,
                                                   const struct mpr_ranks_measure *m, double whole)
{
    const double at_most = whole * 0.25, finer = whole * 0.125;
    const struct mpr_ranks_split *best = NULL;
    double best_sum = whole;
    for (size_t i = 0; i < r->splits; i++) {
        const double sum = distances_within(m, &r->split[i]);
        if (sum > at_most || best_sum - sum < finer) continue;
        best = &r->split[i];
        best_sum = sum;
    }
    return best;
}

/* ---- outliers of a class, and stages */

/* Returns the largest peak of a heap in the rank. */
static uint64_t peak_of(const struct mpr_ranks *r, size_t rank)
{
    uint64_t peak = 0;
    for (size_t i = 0; i < r->measures; i++)
        if (!r->measure[i].part && r->measure[i].value[rank] > peak)
            peak = r->measure[i].value[rank];
    return peak;
}

bool mpr_ranks_differ(const struct mpr_ranks *r, size_t measure, size_t a, size_t b)
{
    enum { LARGE_BYTES = 64 << 20, TENTH = 10, HUNDREDTH = 100 };
    const struct mpr_ranks_measure *m = &r->measure[measure];
    const uint64_t x = m->value[a], y = m->value[b], difference = x > y ? x - y : y - x,
                   p = peak_of(r, a), q = peak_of(r, b), peak = p > q ? p : q;
    return difference >= peak / HUNDREDTH &&
           (difference >= LARGE_BYTES || difference >= peak / TENTH);
}

static void find_apart(struct mpr_ranks *r, size_t measure, const struct class *c)
{
    struct mpr_ranks_measure *m = &r->measure[measure];
    size_t *apart = mpr_alloc(c->ranks, sizeof *apart);
    const size_t count = mpr_outliers_find(c->value, c->ranks, apart), usual = median_rank(c);
    for (size_t i = 0; i < c->ranks; i++) m->usual[c->rank[i]] = usual;
    for (size_t i = 0; i < count; i++)
        if (mpr_ranks_differ(r, measure, c->rank[apart[i]], usual))
            m->apart[m->aparts++] = c->rank[apart[i]];
    free(apart);
}

static int by_distance(const void *left, const void *right, void *arg)
{
    const struct mpr_ranks_measure *m = arg;
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    const int64_t x = llabs(mpr_signed_difference(m->value[m->usual[a]], m->value[a])),
                  y = llabs(mpr_signed_difference(m->value[m->usual[b]], m->value[b]));
    if (x != y) return x > y ? -1 : 1;
    return a < b ? -1 : a > b;
}

static struct mpr_ranks_outlier *difference(struct mpr_ranks *r, size_t measure, size_t rank)
{
    const struct mpr_ranks_measure *m = &r->measure[measure];
    struct mpr_ranks_outlier *o = mpr_arena_alloc(&r->arena, sizeof *o);
    *o = (struct mpr_ranks_outlier){ .rank = rank,
                                     .measure = measure,
                                     .usual = m->median_rank,
                                     .lines_of = measure,
                                     .value = m->value[rank],
                                     .change = mpr_signed_difference(m->median, m->value[rank]) };
    return o;
}

/* @aparts: index of the first outlier of this stage. */
static void fill_stage(struct mpr_ranks *r, size_t measure, size_t at, const struct class *c,
                       size_t aparts)
{
    struct mpr_ranks_measure *m = &r->measure[measure];
    struct mpr_ranks_stage *s = &m->stage[at];
    uint64_t min = UINT64_MAX, max = 0; /* without outliers */
    *s = (struct mpr_ranks_stage){ .members = mpr_ranks_set(r, c->rank, c->ranks),
                                   .rank = c->rank,
                                   .ranks = c->ranks,
                                   .median = c->median,
                                   .least = UINT64_MAX,
                                   .differs = difference(r, measure, median_rank(c)) };
    for (size_t i = 0; i < c->ranks; i++) {
        const uint64_t value = c->value[i];
        bool apart = false;
        for (size_t k = aparts; k < m->aparts; k++) apart |= m->apart[k] == c->rank[i];
        s->apart += apart;
        if (value < s->least) s->least = value;
        if (value > s->most) s->most = value;
        if (!apart && value < min) min = value;
        if (!apart && value > max) max = value;
    }
    if (max - min > m->within) m->within = max - min;
}

static int by_difference(const void *left, const void *right)
{
    const struct mpr_ranks_stage *a = left, *b = right;
    const int64_t x = llabs(a->differs->change), y = llabs(b->differs->change);
    if (x != y) return x > y ? -1 : 1;
    return a->differs->rank < b->differs->rank ? -1 : a->differs->rank > b->differs->rank;
}

/* Finds the measure's stages, and the outliers in these, or among all ranks. */
static void judge(struct mpr_ranks *r, size_t measure)
{
    struct mpr_ranks_measure *m = &r->measure[measure];
    size_t *every = mpr_alloc(r->ranks, sizeof *every);
    for (size_t i = 0; i < r->ranks; i++) every[i] = i;
    struct class all = class_of(m, every, r->ranks);
    m->usual = mpr_arena_alloc(&r->arena, r->ranks * sizeof *m->usual);
    m->apart = mpr_arena_alloc(&r->arena, r->ranks * sizeof *m->apart);
    m->split = choose_stages(r, m, distances(&all));
    if (m->split) {
        m->stage = mpr_arena_alloc(&r->arena, m->split->classes * sizeof *m->stage);
        for (size_t k = 0; k < m->split->classes; k++) {
            struct class c = class_at(m, m->split, k);
            const size_t aparts = m->aparts;
            find_apart(r, measure, &c);
            fill_stage(r, measure, k, &c, aparts);
            free(c.value);
        }
        qsort(m->stage, m->split->classes, sizeof *m->stage, by_difference);
    } else find_apart(r, measure, &all);
    if (m->aparts) qsort_r(m->apart, m->aparts, sizeof *m->apart, by_distance, m);
    free(all.value);
    free(every);
}

/* ---- outliers */

static int by_change(const void *left, const void *right)
{
    const struct mpr_ranks_outlier *a = left, *b = right;
    if (llabs(a->change) != llabs(b->change)) return llabs(a->change) > llabs(b->change) ? -1 : 1;
    return a->rank < b->rank ? -1 : 1;
}

/* Reports each rank once, by the heap in which it is farthest away. */
static void find_outliers(struct mpr_ranks *r)
{
    struct mpr_ranks_outlier *of = mpr_alloc(r->ranks, sizeof *of);
    for (size_t k = 0; k < r->measures; k++) {
        const struct mpr_ranks_measure *m = &r->measure[k];
        for (size_t i = 0; !m->part && !m->inside && i < m->aparts; i++) {
            const size_t rank = m->apart[i], usual = m->usual[rank];
            const int64_t change = mpr_signed_difference(m->value[usual], m->value[rank]);
            if (llabs(change) > llabs(of[rank].change))
                of[rank] = (struct mpr_ranks_outlier){ .rank = rank,
                                                       .measure = k,
                                                       .lines_of = k,
                                                       .usual = usual,
                                                       .value = m->value[rank],
                                                       .change = change };
        }
    }
    r->outlier = mpr_arena_alloc(&r->arena, r->ranks * sizeof *r->outlier);
    for (size_t i = 0; i < r->ranks; i++)
        if (of[i].change) r->outlier[r->outliers++] = of[i];
    if (r->outliers) qsort(r->outlier, r->outliers, sizeof *r->outlier, by_change);
    free(of);
}

/* If there are two ranks, the rank that holds more of a heap is compared with the other. */
static void compare_pair(struct mpr_ranks *r)
{
    for (size_t i = 0; r->ranks == 2 && i < r->measures; i++) {
        const struct mpr_ranks_measure *m = &r->measure[i];
        if (m->part || m->inside || !mpr_ranks_differ(r, i, 0, 1)) continue;
        struct mpr_ranks_outlier *o = difference(r, i, m->most_rank);
        o->usual = m->least_rank;
        o->change = mpr_signed_difference(m->least, m->most);
        if (!r->pair || o->change > r->pair->change) r->pair = o;
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

void mpr_ranks_measure(struct mpr_ranks *r)
{
    find_measures(r);
    for (size_t i = 0; i < r->measures; i++) judge(r, i);
    find_outliers(r);
    compare_pair(r);
    r->shown = choose_shown(r);
}
