/* What makes a rank differ from the one that is the median of its stage, or of all; and a stage's
 * from that of all. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "ranks_parts.h"

/* ---- pairs of lines that are alike */

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

/* Lines of the one that tells the path, where several are alike, are told by that. */
static void name(struct mpr_ranks_cause *c, const char *path, bool again)
{
    if (!c->path) c->path = path;
    else if (again && *c->alike) c->path = c->alike;
}

static void add_lines(struct causes *all, const struct mpr_digest *d, uint8_t heap, bool here)
{
    for (size_t i = 0; i < d->lines; i++) {
        const struct mpr_digest_line *l = &d->line[i];
        if (l->heap != heap || !l->bytes) continue;
        struct mpr_ranks_cause *c = cause_of(all, l->alike, l->caller);
        uint64_t *bytes = here ? &c->here : &c->median;
        name(c, *l->alike ? l->path : "smaller lines", *bytes && (here || !c->here));
        *bytes += l->bytes;
        c->estimated |= l->estimated;
    }
}

static void add_parts(struct causes *all, const struct mpr_digest *d, bool here)
{
    const struct mpr_digest_device *device = mpr_ranks_device(d);
    for (size_t i = 0; device && i < d->parts; i++) {
        const struct mpr_digest_part *p = &d->part[i];
        if (p->device != device->device || p->bytes <= 0) continue;
        struct mpr_ranks_cause *c = cause_of(all, p->part, "");
        c->path = p->name;
        *(here ? &c->here : &c->median) += (uint64_t)p->bytes;
    }
}

/* What goes the way of the whole first, by how much; then what goes against it, the most last. */
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
        all->at[i].change = mpr_change(all->at[i].median, all->at[i].here);
        if (all->at[i].change) all->at[kept++] = all->at[i];
    }
    if (kept) qsort_r(all->at, kept, sizeof *all->at, by_change, &all->grew);
    struct mpr_ranks_cause *cause = mpr_arena_alloc(&r->arena, kept * sizeof *cause);
    if (kept) memcpy(cause, all->at, kept * sizeof *cause);
    *count = kept;
    free(all->at);
    return cause;
}

static struct causes begin(const struct mpr_ranks_outlier *o, size_t most)
{
    return (struct causes){ .at = mpr_alloc(most + 1, sizeof(struct mpr_ranks_cause)),
                            .grew = o->change > 0 };
}

static void explain_lines(struct mpr_ranks *r, struct mpr_ranks_outlier *o)
{
    const struct mpr_ranks_measure *m = &r->measure[o->lines_of];
    const struct mpr_digest *here = r->rank[o->rank].digest, *median = r->rank[o->usual].digest;
    const struct mpr_digest_heap *own = mpr_ranks_heap(here, m->kind),
                                 *other = mpr_ranks_heap(median, m->kind);
    struct causes all = begin(o, here->lines + median->lines);
    if (own) add_lines(&all, here, own->heap, true);
    if (other) add_lines(&all, median, other->heap, false);
    o->cause = finish(r, &all, &o->causes);
}

static void explain_parts(struct mpr_ranks *r, struct mpr_ranks_outlier *o)
{
    const struct mpr_ranks_measure *m = &r->measure[o->measure];
    const struct mpr_digest *here = r->rank[o->rank].digest, *median = r->rank[o->usual].digest;
    if (!mpf_heap_is_gpu(m->kind)) return;
    struct causes all = begin(o, here->parts + median->parts);
    add_parts(&all, here, true);
    add_parts(&all, median, false);
    o->part = finish(r, &all, &o->parts);
}

/* ---- whose lines say more */

static bool goes_with(const struct mpr_ranks_measure *m, const struct mpr_ranks_outlier *o)
{
    const int64_t change = mpr_change(m->value[o->usual], m->value[o->rank]),
                  tenth = o->change / 10;
    return o->change > 0 ? change >= o->change - tenth : change <= o->change - tenth;
}

/* A segment stands under the range that PyTorch needed it in first, a block under its own. */
static size_t lines_of(const struct mpr_ranks *r, const struct mpr_ranks_outlier *o)
{
    if (r->measure[o->measure].kind != MPF_HEAP_DEVICE) return o->measure;
    for (size_t i = 0; i < r->measures; i++)
        if (r->measure[i].kind == MPF_HEAP_TORCH && goes_with(&r->measure[i], o)) return i;
    return o->measure;
}

static void explain(struct mpr_ranks *r, struct mpr_ranks_outlier *o)
{
    o->lines_of = lines_of(r, o);
    explain_lines(r, o);
    explain_parts(r, o);
}

static void explain_stages(struct mpr_ranks *r, const struct mpr_ranks_measure *m)
{
    for (size_t i = 0; m->split && i < m->split->classes; i++) explain(r, m->stage[i].differs);
}

void mpr_ranks_explain(struct mpr_ranks *r)
{
    for (size_t i = 0; i < r->outliers; i++) explain(r, &r->outlier[i]);
    for (size_t i = 0; i < r->measures; i++) explain_stages(r, &r->measure[i]);
}
