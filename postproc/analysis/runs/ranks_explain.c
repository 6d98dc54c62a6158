/* Causes of the difference between two ranks: an outlier and the median of its stage or of all, or
 * a stage's median and that of all. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "ranks_parts.h"

/* Pairs of lines that are alike in both ranks. */
struct causes {
    struct mpr_ranks_cause *at;
    size_t count;
    bool grew; /* the rank has more than the median */
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
static void add_lines(struct causes *all, const struct mpr_digest *d, uint8_t heap, bool here)
{
    for (size_t i = 0; i < d->lines; i++) {
        const struct mpr_digest_line *l = &d->line[i];
        if (l->heap != heap || !l->bytes) continue;
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
    const struct mpr_digest_device *device = mpr_ranks_device(d);
    for (size_t i = 0; device && i < d->parts; i++) {
        const struct mpr_digest_part *p = &d->part[i];
        if (p->device != device->device || p->bytes <= 0 || strcmp(p->part, "other_processes") == 0)
            continue;
        struct mpr_ranks_cause *c = cause_of(all, p->part, "");
        c->path = p->name;
        *(here ? &c->here : &c->median) += (uint64_t)p->bytes;
    }
}

/* The largest changes in the direction of the whole come first, the largest ones against it last.
 */
static int by_change(const void *left, const void *right, void *arg)
{
    const struct mpr_ranks_cause *a = left, *b = right;
    const bool grew = *(const bool *)arg;
    if (a->change != b->change) return (a->change > b->change) == grew ? -1 : 1;
    const int order = strcmp(a->alike, b->alike);
    return order ? order : strcmp(a->caller, b->caller);
}

static struct mpr_ranks_cause *finish(struct mpr_ranks *r, struct causes *all, size_t *count)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++) {
        all->at[i].change = mpr_signed_difference(all->at[i].median, all->at[i].here);
        if (all->at[i].change) all->at[kept++] = all->at[i];
    }
    if (kept) qsort_r(all->at, kept, sizeof *all->at, by_change, &all->grew);
    struct mpr_ranks_cause *cause = mpr_arena_alloc(&r->arena, kept * sizeof *cause);
    if (kept) memcpy(cause, all->at, kept * sizeof *cause);
    *count = kept;
    free(all->at);
    return cause;
}

static struct causes begin(const struct mpr_ranks_outlier *o, size_t max)
{
    return (struct causes){ .at = mpr_alloc(max + 1, sizeof(struct mpr_ranks_cause)),
                            .grew = o->change > 0 };
}

/* Returns the measure whose lines explain the outlier: PyTorch's blocks if they differ by at least
 * half of the bytes of the segments.  A segment has the range that needed it first, a block its
 * own.
 */
static size_t measure_of_lines(const struct mpr_ranks *r, const struct mpr_ranks_outlier *o)
{
    const int64_t least = o->change / 2;
    if (r->measure[o->measure].kind != MPF_HEAP_DEVICE) return o->measure;
    for (size_t i = 0; i < r->measures; i++) {
        const struct mpr_ranks_measure *m = &r->measure[i];
        const int64_t change = mpr_signed_difference(m->value[o->usual], m->value[o->rank]);
        if (m->kind == MPF_HEAP_TORCH && (o->change > 0 ? change >= least : change <= least))
            return i;
    }
    return o->measure;
}

static void explain(struct mpr_ranks *r, struct mpr_ranks_outlier *o)
{
    const struct mpr_digest *here = r->rank[o->rank].digest, *median = r->rank[o->usual].digest;
    o->lines_of = measure_of_lines(r, o);
    const unsigned kind = r->measure[o->lines_of].kind;
    const struct mpr_digest_heap *own = mpr_ranks_heap(here, kind),
                                 *other = mpr_ranks_heap(median, kind);
    struct causes lines = begin(o, here->lines + median->lines);
    if (own) add_lines(&lines, here, own->heap, true);
    if (other) add_lines(&lines, median, other->heap, false);
    o->cause = finish(r, &lines, &o->causes);
    if (!mpf_heap_is_gpu(r->measure[o->measure].kind)) return;
    struct causes parts = begin(o, here->parts + median->parts);
    add_parts(&parts, here, true);
    add_parts(&parts, median, false);
    o->part = finish(r, &parts, &o->parts);
}

void mpr_ranks_explain(struct mpr_ranks *r)
{
    for (size_t i = 0; i < r->outliers; i++) explain(r, &r->outlier[i]);
    if (r->pair) explain(r, r->pair);
    for (size_t i = 0; i < r->measures; i++)
        for (size_t k = 0; r->measure[i].split && k < r->measure[i].split->classes; k++)
            explain(r, r->measure[i].stage[k].differs);
}
