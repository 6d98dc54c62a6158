/* The dimensions of a job, as its communicators have them, and what they tell ranks apart by.
 *
 * Groups are of one axis where they have as many ranks, at the same distances from each other, and
 * no rank is in two of them: {0,1} and {2,3}, or {0,8,16} and {1,9,17}.  Where a rank left no
 * digest, so that less is known of its group, the distances that are known must agree. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "ranks_parts.h"

enum { AXES = 8, PATTERNS = 64 }; /* at most */
static const size_t none = SIZE_MAX;

/* ---- axes */

static uint64_t number_of(const struct mpr_ranks *r, size_t rank) { return r->rank[rank].number; }

static bool all_numbered(const struct mpr_ranks *r)
{
    for (size_t i = 0; i < r->ranks; i++)
        if (number_of(r, i) == UINT64_MAX) return false;
    return r->ranks > 0;
}

/* All of its ranks are there, and each has a place of its own. */
static bool is_whole(const struct mpr_ranks_group *g)
{
    if (g->present < 2 || g->present != g->size) return false;
    bool *taken = mpr_alloc(g->present, sizeof *taken);
    bool whole = true;
    for (size_t i = 0; i < g->present; i++) {
        whole = whole && g->place[i] < g->present && !taken[g->place[i]];
        if (whole) taken[g->place[i]] = true;
    }
    free(taken);
    return whole;
}

/* The ranks' numbers by their places in the group. */
static uint64_t *pattern_of(const struct mpr_ranks *r, const struct mpr_ranks_group *g)
{
    uint64_t *pattern = mpr_alloc(g->present, sizeof *pattern);
    for (size_t i = 0; i < g->present; i++) pattern[g->place[i]] = number_of(r, g->rank[i]);
    return pattern;
}

/* Numbers may be smaller than the pattern's: differences wrap around alike. */
static bool fits(const struct mpr_ranks *r, const struct mpr_ranks_group *g,
                 const struct mpr_ranks_group *first, const uint64_t *pattern)
{
    if (g->size != first->size) return false;
    for (size_t i = 0; i < g->present; i++)
        if (g->place[i] >= g->size || number_of(r, g->rank[i]) - pattern[g->place[i]] !=
                                          number_of(r, g->rank[0]) - pattern[g->place[0]])
            return false;
    return true;
}

enum taken { FREE, TAKEN, SAME };

/* Same: they are a group already, which has another communicator. */
static enum taken taken(const struct mpr_ranks_axis *axis, const struct mpr_ranks_group *g)
{
    bool free = true, same = true;
    for (size_t i = 0; i < g->present; i++) {
        const size_t group = axis->group[g->rank[i]];
        free &= group == none;
        same &= group != none && group == axis->group[g->rank[0]];
    }
    return free ? FREE : same ? SAME : TAKEN;
}

static void add_group(struct mpr_ranks_axis *axis, const struct mpr_ranks_group *g)
{
    for (size_t i = 0; i < g->present; i++) {
        axis->group[g->rank[i]] = axis->groups;
        axis->place[g->rank[i]] = g->place[i];
    }
    axis->groups++;
}

/* Whole groups first, which tell who is left for the others.  False: one overlaps with another. */
static bool fill(const struct mpr_ranks *r, struct mpr_ranks_axis *axis, const uint64_t *pattern)
{
    for (int whole = 1; whole >= 0; whole--)
        for (size_t i = 0; i < r->groups; i++) {
            const struct mpr_ranks_group *g = &r->group[i];
            if (is_whole(g) != whole || !fits(r, g, axis->first, pattern)) continue;
            const enum taken found = taken(axis, g);
            if (found == FREE) add_group(axis, g);
            else if (found == TAKEN && whole) return false;
        }
    for (size_t i = 0; i < r->ranks; i++)
        if (axis->group[i] == none) return false;
    return axis->groups > 1;
}

static void add_axis(struct mpr_ranks *r, const struct mpr_ranks_group *first)
{
    struct mpr_ranks_axis axis = { .first = first,
                                   .group = mpr_arena_alloc(&r->arena, r->ranks * sizeof(size_t)),
                                   .place = mpr_arena_alloc(&r->arena, r->ranks * sizeof(size_t)) };
    uint64_t *pattern = pattern_of(r, first);
    for (size_t i = 0; i < r->ranks; i++) axis.group[i] = none;
    if (fill(r, &axis, pattern)) r->axis[r->axes++] = axis;
    free(pattern);
}

/* The first groups of patterns that were tried. */
struct tried {
    const struct mpr_ranks_group *first[PATTERNS];
    size_t count;
};

static bool is_new(const struct mpr_ranks *r, const struct tried *t,
                   const struct mpr_ranks_group *g)
{
    bool known = false;
    for (size_t i = 0; i < t->count && !known; i++) {
        uint64_t *pattern = pattern_of(r, t->first[i]);
        known = fits(r, g, t->first[i], pattern);
        free(pattern);
    }
    return !known;
}

static void find_axes(struct mpr_ranks *r)
{
    struct tried t = { 0 };
    r->axis = mpr_arena_alloc(&r->arena, AXES * sizeof *r->axis);
    for (size_t i = 0; i < r->groups && r->axes < AXES && t.count < PATTERNS; i++) {
        const struct mpr_ranks_group *g = &r->group[i];
        if (g->size >= r->ranks || !is_whole(g) || !is_new(r, &t, g)) continue;
        t.first[t.count++] = g;
        add_axis(r, g);
    }
}

/* ---- classes */

/* Any numbers become 0, 1, 2, ..., in order of their first ranks.  How many. */
static size_t renumber(size_t *class, size_t ranks)
{
    size_t *was = mpr_alloc(ranks, sizeof *was), classes = 0;
    for (size_t i = 0; i < ranks; i++) {
        size_t k = 0;
        while (k < classes && was[k] != class[i]) k++;
        if (k == classes) was[classes++] = class[i];
        class[i] = k;
    }
    free(was);
    return classes;
}

static void list(struct mpr_ranks *r, struct mpr_ranks_split *s, const size_t *class)
{
    size_t at = 0;
    s->rank = mpr_arena_alloc(&r->arena, r->ranks * sizeof *s->rank);
    s->begin = mpr_arena_alloc(&r->arena, (s->classes + 1) * sizeof *s->begin);
    for (size_t k = 0; k < s->classes; k++) {
        s->begin[k] = at;
        for (size_t i = 0; i < r->ranks; i++)
            if (class[i] == k) s->rank[at++] = i;
    }
    s->begin[s->classes] = at;
}

static bool is_there(const struct mpr_ranks *r, const struct mpr_ranks_split *s)
{
    for (size_t i = 0; i < r->splits; i++) {
        const struct mpr_ranks_split *o = &r->split[i];
        if (o->classes == s->classes && memcmp(o->rank, s->rank, r->ranks * sizeof *s->rank) == 0 &&
            memcmp(o->begin, s->begin, (s->classes + 1) * sizeof *s->begin) == 0)
            return true;
    }
    return false;
}

/* Of classes that are alike there must be two in the mean, or nothing is told by them. */
static void add_split(struct mpr_ranks *r, struct mpr_ranks_split split, size_t *class)
{
    split.classes = renumber(class, r->ranks);
    if (split.classes < 2 || split.classes > r->ranks / 2) return;
    list(r, &split, class);
    if (!is_there(r, &split)) r->split[r->splits++] = split;
}

static size_t root_of(const size_t *parent, size_t at)
{
    while (parent[at] != at) at = parent[at];
    return at;
}

/* Groups of one axis that a group of the other one has ranks of become one. */
static void join(size_t *class, const struct mpr_ranks_axis *a, const struct mpr_ranks_axis *b,
                 size_t ranks)
{
    size_t *parent = mpr_alloc(a->groups, sizeof *parent),
           *first = mpr_alloc(b->groups, sizeof *first);
    for (size_t i = 0; i < a->groups; i++) parent[i] = i;
    for (size_t i = 0; i < b->groups; i++) first[i] = none;
    for (size_t i = 0; i < ranks; i++) {
        size_t *of = &first[b->group[i]];
        if (*of == none) *of = a->group[i];
        else parent[root_of(parent, a->group[i])] = root_of(parent, *of);
    }
    for (size_t i = 0; i < ranks; i++) class[i] = root_of(parent, a->group[i]);
    free(parent);
    free(first);
}

static void add_joined(struct mpr_ranks *r, size_t axis, size_t *class)
{
    for (size_t other = axis + 1; other < r->axes; other++) {
        join(class, &r->axis[axis], &r->axis[other], r->ranks);
        add_split(r,
                  (struct mpr_ranks_split){ MPR_RANKS_BY_JOINED, &r->axis[axis], &r->axis[other] },
                  class);
    }
}

static int by_classes(const void *left, const void *right)
{
    const struct mpr_ranks_split *a = left, *b = right;
    if (a->classes != b->classes) return a->classes < b->classes ? -1 : 1;
    return a->by < b->by ? -1 : a->by > b->by;
}

static void add_splits(struct mpr_ranks *r)
{
    size_t *class = mpr_alloc(r->ranks, sizeof *class);
    for (enum mpr_ranks_by by = MPR_RANKS_BY_GROUP; by <= MPR_RANKS_BY_PLACE; by++)
        for (size_t i = 0; i < r->axes; i++) {
            const struct mpr_ranks_axis *a = &r->axis[i];
            memcpy(class, by == MPR_RANKS_BY_GROUP ? a->group : a->place, r->ranks * sizeof *class);
            add_split(r, (struct mpr_ranks_split){ by, a, NULL }, class);
        }
    for (size_t i = 0; i < r->axes; i++) add_joined(r, i, class);
    if (r->splits) qsort(r->split, r->splits, sizeof *r->split, by_classes);
    free(class);
}

void mpr_ranks_split(struct mpr_ranks *r)
{
    if (!all_numbered(r)) return;
    find_axes(r);
    r->split = mpr_arena_alloc(&r->arena, r->axes * (r->axes + 3) * sizeof *r->split);
    add_splits(r);
}
