/* What ranks are compared by, and which of them lie apart. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "apart.h"
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

const struct mpr_digest_device *mpr_ranks_device(const struct mpr_digest *d)
{
    const struct mpr_digest_device *found = NULL;
    for (size_t i = 0; i < d->devices; i++)
        if (d->device[i].used_bytes != UINT64_MAX &&
            (!found || d->device[i].used_bytes > found->used_bytes))
            found = &d->device[i];
    return found;
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

/* What is the rest of a sum may be negative: then there is nothing of it. */
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
    m->median = mpr_apart_median(m->value, r->ranks);
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

/* ---- outliers */

static void consider(struct mpr_ranks_outlier *o, const struct mpr_ranks *r, size_t measure,
                     size_t rank)
{
    const struct mpr_ranks_measure *m = &r->measure[measure];
    const size_t usual = m->usual[rank];
    const int64_t change = mpr_change(m->value[usual], m->value[rank]);
    if (llabs(change) <= llabs(o->change)) return;
    *o = (struct mpr_ranks_outlier){ .rank = rank,
                                     .measure = measure,
                                     .lines_of = measure,
                                     .usual = usual,
                                     .value = m->value[rank],
                                     .change = change };
}

static int by_change(const void *left, const void *right)
{
    const struct mpr_ranks_outlier *a = left, *b = right;
    if (llabs(a->change) != llabs(b->change)) return llabs(a->change) > llabs(b->change) ? -1 : 1;
    return a->rank < b->rank ? -1 : 1;
}

/* Each rank once, by the heap in which it is farthest away. */
static void find_outliers(struct mpr_ranks *r)
{
    struct mpr_ranks_outlier *of = mpr_alloc(r->ranks, sizeof *of);
    for (size_t m = 0; m < r->measures; m++)
        for (size_t i = 0; !r->measure[m].part && !r->measure[m].inside && i < r->measure[m].aparts;
             i++)
            consider(&of[r->measure[m].apart[i]], r, m, r->measure[m].apart[i]);
    r->outlier = mpr_arena_alloc(&r->arena, r->ranks * sizeof *r->outlier);
    for (size_t i = 0; i < r->ranks; i++)
        if (of[i].change) r->outlier[r->outliers++] = of[i];
    if (r->outliers) qsort(r->outlier, r->outliers, sizeof *r->outlier, by_change);
    free(of);
}

/* Where they differ most; else the largest, PyTorch's blocks rather than their segments. */
static size_t shown(const struct mpr_ranks *r)
{
    if (r->outliers) return r->outlier[0].measure;
    size_t found = 0;
    while (found < r->measures && (r->measure[found].inside || r->measure[found].part)) found++;
    for (size_t i = 0;
         found < r->measures && r->measure[found].kind == MPF_HEAP_DEVICE && i < r->measures; i++)
        if (r->measure[i].kind == MPF_HEAP_TORCH) found = i;
    return found < r->measures ? found : 0;
}

void mpr_ranks_measure(struct mpr_ranks *r)
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
    for (size_t i = 0; i < r->measures; i++) mpr_ranks_judge(r, i);
    find_outliers(r);
    r->shown = shown(r);
}
