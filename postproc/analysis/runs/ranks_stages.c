/* Which ranks lie apart from those that are like them: from all, or from their stage, where what
 * communicators tell ranks apart by tells the peaks apart, too. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "apart.h"
#include "ranks_parts.h"

/* What stages leave of the ranks' distances from the median, at most a quarter; what finer ones
 * have to take away besides, an eighth. */
static const double LEFT = 0.25, FINER = 0.125;
enum { TWENTIETH = 20 };

/* Ranks of which one is the median. */
struct class {
    const size_t *rank;
    size_t ranks;
    uint64_t *value;
    uint64_t median;
};

static struct class class_of(const struct mpr_ranks_measure *m, const size_t *rank, size_t ranks)
{
    struct class c = { rank, ranks, mpr_alloc(ranks, sizeof *c.value), 0 };
    for (size_t i = 0; i < ranks; i++) c.value[i] = m->value[rank[i]];
    c.median = mpr_apart_median(c.value, ranks);
    return c;
}

static struct class class_at(const struct mpr_ranks_measure *m, const struct mpr_ranks_split *s,
                             size_t k)
{
    return class_of(m, s->rank + s->begin[k], s->begin[k + 1] - s->begin[k]);
}

static double distances(const struct class *c)
{
    double sum = 0;
    for (size_t i = 0; i < c->ranks; i++) sum += fabs((double)mpr_change(c->median, c->value[i]));
    return sum;
}

/* ---- which stages */

/* Infinite: the classes' medians do not lie apart. */
static double left_by(const struct mpr_ranks_measure *m, const struct mpr_ranks_split *s)
{
    double left = 0;
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t k = 0; k < s->classes; k++) {
        struct class c = class_at(m, s, k);
        left += distances(&c);
        if (c.median < least) least = c.median;
        if (c.median > most) most = c.median;
        free(c.value);
    }
    return most - least > m->median / TWENTIETH ? left : INFINITY;
}

static const struct mpr_ranks_split *choose(const struct mpr_ranks *r,
                                            const struct mpr_ranks_measure *m, double whole)
{
    const struct mpr_ranks_split *best = NULL;
    double least = whole;
    for (size_t i = 0; i < r->splits; i++) {
        const double left = left_by(m, &r->split[i]);
        if (left > whole * LEFT || least - left < whole * FINER) continue;
        best = &r->split[i];
        least = left;
    }
    return best;
}

/* ---- who lies apart */

static size_t median_rank(const struct class *c)
{
    size_t i = 0;
    while (c->value[i] != c->median) i++;
    return c->rank[i];
}

static void add_apart(struct mpr_ranks_measure *m, const struct class *c)
{
    size_t *apart = mpr_alloc(c->ranks, sizeof *apart);
    const size_t count = mpr_apart_find(c->value, c->ranks, apart), usual = median_rank(c);
    for (size_t i = 0; i < c->ranks; i++) m->usual[c->rank[i]] = usual;
    for (size_t i = 0; i < count; i++) m->apart[m->aparts++] = c->rank[apart[i]];
    free(apart);
}

static int by_distance(const void *left, const void *right, void *arg)
{
    const struct mpr_ranks_measure *m = arg;
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    const int64_t x = llabs(mpr_change(m->value[m->usual[a]], m->value[a])),
                  y = llabs(mpr_change(m->value[m->usual[b]], m->value[b]));
    if (x != y) return x > y ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* ---- stages */

static struct mpr_ranks_outlier *difference(struct mpr_ranks *r, size_t measure, size_t rank)
{
    const struct mpr_ranks_measure *m = &r->measure[measure];
    struct mpr_ranks_outlier *o = mpr_arena_alloc(&r->arena, sizeof *o);
    *o = (struct mpr_ranks_outlier){ .rank = rank,
                                     .measure = measure,
                                     .usual = m->median_rank,
                                     .lines_of = measure,
                                     .value = m->value[rank],
                                     .change = mpr_change(m->median, m->value[rank]) };
    return o;
}

static bool is_apart(const struct mpr_ranks_measure *m, size_t rank)
{
    for (size_t i = 0; i < m->aparts; i++)
        if (m->apart[i] == rank) return true;
    return false;
}

static void add_stage(struct mpr_ranks *r, size_t measure, size_t at, const struct class *c)
{
    struct mpr_ranks_measure *m = &r->measure[measure];
    struct mpr_ranks_stage *s = &m->stage[at];
    uint64_t least = UINT64_MAX, most = 0; /* of those that do not lie apart */
    *s = (struct mpr_ranks_stage){ .members = mpr_ranks_set(r, c->rank, c->ranks),
                                   .rank = c->rank,
                                   .ranks = c->ranks,
                                   .median = c->median,
                                   .least = UINT64_MAX,
                                   .differs = difference(r, measure, median_rank(c)) };
    for (size_t i = 0; i < c->ranks; i++) {
        const uint64_t value = c->value[i];
        const bool apart = is_apart(m, c->rank[i]);
        s->apart += apart;
        if (value < s->least) s->least = value;
        if (value > s->most) s->most = value;
        if (!apart && value < least) least = value;
        if (!apart && value > most) most = value;
    }
    if (most - least > m->within) m->within = most - least;
}

static int farthest(const void *left, const void *right)
{
    const struct mpr_ranks_stage *a = left, *b = right;
    const int64_t x = llabs(a->differs->change), y = llabs(b->differs->change);
    if (x != y) return x > y ? -1 : 1;
    return a->differs->rank < b->differs->rank ? -1 : a->differs->rank > b->differs->rank;
}

static void judge_stages(struct mpr_ranks *r, size_t measure)
{
    struct mpr_ranks_measure *m = &r->measure[measure];
    m->stage = mpr_arena_alloc(&r->arena, m->split->classes * sizeof *m->stage);
    for (size_t k = 0; k < m->split->classes; k++) {
        struct class c = class_at(m, m->split, k);
        add_apart(m, &c);
        add_stage(r, measure, k, &c);
        free(c.value);
    }
    qsort(m->stage, m->split->classes, sizeof *m->stage, farthest);
}

void mpr_ranks_judge(struct mpr_ranks *r, size_t measure)
{
    struct mpr_ranks_measure *m = &r->measure[measure];
    size_t *every = mpr_alloc(r->ranks, sizeof *every);
    for (size_t i = 0; i < r->ranks; i++) every[i] = i;
    struct class all = class_of(m, every, r->ranks);
    m->usual = mpr_arena_alloc(&r->arena, r->ranks * sizeof *m->usual);
    m->apart = mpr_arena_alloc(&r->arena, r->ranks * sizeof *m->apart);
    m->split = choose(r, m, distances(&all));
    if (m->split) judge_stages(r, measure);
    else add_apart(m, &all);
    if (m->aparts) qsort_r(m->apart, m->aparts, sizeof *m->apart, by_distance, m);
    free(all.value);
    free(every);
}
