/* The ranks that share communicators, partitions of the ranks by communicators, and the values
 * of nodes and groups. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "outliers.h"
#include "ranks.h"

/* ---- communicators */

struct member {
    const struct mpr_digest_comm *comm;
    size_t rank;
};

MPR_COMPARE(by_comm, struct member,
            strcmp(a->comm->communicator, b->comm->communicator) ?: mpr_compare(a->rank, b->rank))

static struct mpr_ranks_group group_of(struct mpr_ranks *r, const struct member *m, size_t members)
{
    struct mpr_ranks_group g = { .name = m->comm->communicator,
                                 .size = m->comm->ranks,
                                 .first_use = m->comm->first_use,
                                 .rank = mpr_arena_alloc(&r->arena, members * sizeof *g.rank),
                                 .place = mpr_arena_alloc(&r->arena, members * sizeof *g.place) };
    uint64_t *bytes = mpr_alloc(members, sizeof *bytes);
    for (size_t i = 0; i < members; i++) {
        if (i && m[i].rank == m[i - 1].rank) continue; /* several devices of one process */
        bytes[g.present] = m[i].comm->bytes;
        g.place[g.present] = m[i].comm->rank;
        g.rank[g.present++] = m[i].rank;
    }
    g.bytes = mpr_outliers_median(bytes, g.present);
    g.members = mpr_ranks_set(r, &r->arena, g.rank, g.present);
    free(bytes);
    return g;
}

static int by_kind(const void *left, const void *right)
{
    const struct mpr_ranks_group *a = left, *b = right;
    int order = mpr_compare(b->size, a->size) ?: strcmp(a->first_use, b->first_use);
    for (size_t i = 0; !order && i < a->present && i < b->present; i++)
        order = mpr_compare(a->rank[i], b->rank[i]);
    return order ?: mpr_compare(b->present, a->present) ?: strcmp(a->name, b->name);
}

static void find_groups(struct mpr_ranks *r)
{
    struct member *member = NULL;
    size_t members = 0, cap = 0;
    for (size_t i = 0; i < r->ranks; i++) {
        const struct mpr_digest *d = r->rank[i].digest;
        for (size_t k = 0; k < d->comms; k++) {
            if (!*d->comm[k].communicator) continue;
            MPR_GROW(member, members, cap);
            member[members++] = (struct member){ &d->comm[k], i };
        }
    }
    if (members) qsort(member, members, sizeof *member, by_comm);
    r->group = mpr_arena_alloc(&r->arena, members * sizeof *r->group);
    for (size_t i = 0, end; i < members; i = end) {
        const char *comm = member[i].comm->communicator;
        for (end = i; end < members && strcmp(member[end].comm->communicator, comm) == 0;) end++;
        r->group[r->groups++] = group_of(r, member + i, end - i);
    }
    if (r->groups) qsort(r->group, r->groups, sizeof *r->group, by_kind);
    free(member);
}

/* ---- axes
 *
 * Groups are of one axis if they have the same number of ranks at the same distances from each
 * other, and no rank is in two of them: {0,1} and {2,3}, or {0,8,16} and {1,9,17}. If some ranks
 * of a group left no digest, the known distances must be equal. */

enum { AXES_MAX = 8, PATTERNS_MAX = 64 };
static const size_t none = SIZE_MAX;

/* Returns true if all ranks of the group have digests, and each has a different place. */
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

/* The layout of a whole group's ranks. */
struct pattern {
    const struct mpr_ranks_group *group;
    uint64_t *number; /* numbers of the ranks, by place in the group */
};

/* Returns true if the group's numbers have the distances of the pattern. The unsigned
 * differences may wrap around, which does not change the result. */
static bool fits(const struct mpr_ranks *r, const struct mpr_ranks_group *g,
                 const struct pattern *p)
{
    if (g->size != p->group->size) return false;
    for (size_t i = 0; i < g->present; i++)
        if (g->place[i] >= g->size || r->rank[g->rank[i]].number - p->number[g->place[i]] !=
                                          r->rank[g->rank[0]].number - p->number[g->place[0]])
            return false;
    return true;
}

/* Adds a group to the axis, unless its ranks are in one group already, which then is the same
 * with another communicator. Returns false if its ranks are in several groups, or only some are
 * in one. */
static bool add_group(struct mpr_ranks_axis *axis, const struct mpr_ranks_group *g)
{
    bool free = true, same = true;
    for (size_t i = 0; i < g->present; i++) {
        const size_t group = axis->group[g->rank[i]];
        free &= group == none;
        same &= group != none && group == axis->group[g->rank[0]];
    }
    if (!free) return same;
    for (size_t i = 0; i < g->present; i++) {
        axis->group[g->rank[i]] = axis->groups;
        axis->place[g->rank[i]] = g->place[i];
    }
    axis->groups++;
    return true;
}

/* Adds the groups that fit the pattern, whole groups first. Returns false if whole groups
 * overlap, a rank has no group, or there is only one group. */
static bool fill_axis(const struct mpr_ranks *r, struct mpr_ranks_axis *axis,
                      const struct pattern *pattern)
{
    for (int whole = 1; whole >= 0; whole--)
        for (size_t i = 0; i < r->groups; i++) {
            const struct mpr_ranks_group *g = &r->group[i];
            if (is_whole(g) != whole || !fits(r, g, pattern)) continue;
            if (!add_group(axis, g) && whole) return false;
        }
    for (size_t i = 0; i < r->ranks; i++)
        if (axis->group[i] == none) return false;
    return axis->groups > 1;
}

static void find_axes(struct mpr_ranks *r)
{
    struct pattern tried[PATTERNS_MAX];
    size_t patterns = 0;
    r->axis = mpr_arena_alloc(&r->arena, AXES_MAX * sizeof *r->axis);
    for (size_t i = 0; i < r->groups && r->axes < AXES_MAX && patterns < PATTERNS_MAX; i++) {
        const struct mpr_ranks_group *g = &r->group[i];
        bool known = false;
        if (g->size >= r->ranks || !is_whole(g)) continue;
        for (size_t k = 0; k < patterns && !known; k++) known = fits(r, g, &tried[k]);
        if (known) continue;
        struct pattern *p = &tried[patterns++];
        *p = (struct pattern){ g, mpr_alloc(g->present, sizeof *p->number) };
        for (size_t k = 0; k < g->present; k++) p->number[g->place[k]] = r->rank[g->rank[k]].number;
        struct mpr_ranks_axis axis = {
            .first = g,
            .group = mpr_arena_alloc(&r->arena, r->ranks * sizeof *axis.group),
            .place = mpr_arena_alloc(&r->arena, r->ranks * sizeof *axis.place)
        };
        for (size_t k = 0; k < r->ranks; k++) axis.group[k] = none;
        if (fill_axis(r, &axis, p)) r->axis[r->axes++] = axis;
    }
    while (patterns) free(tried[--patterns].number);
}

/* ---- partitions of the ranks */

/* Adds a partition, unless an equal one is known or its classes have fewer than two ranks on
 * average, too few to compare. @class: by rank, a number less than the number of ranks. */
static void add_split(struct mpr_ranks *r, struct mpr_ranks_split s, const size_t *class)
{
    size_t *number = mpr_alloc(r->ranks, sizeof *number), ranks = 0; /* number: of a class + 1 */
    for (size_t i = 0; i < r->ranks; i++)
        if (!number[class[i]]) number[class[i]] = ++s.classes;
    const bool good = s.classes >= 2 && s.classes <= r->ranks / 2;
    s.rank = mpr_arena_alloc(&r->arena, r->ranks * sizeof *s.rank);
    s.begin = mpr_arena_alloc(&r->arena, (s.classes + 1) * sizeof *s.begin);
    for (size_t k = 0; good && k < s.classes; k++) {
        for (size_t i = 0; i < r->ranks; i++)
            if (number[class[i]] == k + 1) s.rank[ranks++] = i;
        s.begin[k + 1] = ranks;
    }
    free(number);
    if (!good) return;
    for (const struct mpr_ranks_split *o = r->split; o < r->split + r->splits; o++)
        if (o->classes == s.classes && memcmp(o->rank, s.rank, r->ranks * sizeof *s.rank) == 0 &&
            memcmp(o->begin, s.begin, (s.classes + 1) * sizeof *s.begin) == 0)
            return;
    r->split[r->splits++] = s;
}

static size_t root_of(const size_t *parent, size_t at)
{
    while (parent[at] != at) at = parent[at];
    return at;
}

/* Joins groups of axis @a that share a group of axis @b. Sets the class of each rank. */
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

MPR_COMPARE(by_classes, struct mpr_ranks_split,
            mpr_compare(a->classes, b->classes) ?: mpr_compare(a->by, b->by))

static void find_splits(struct mpr_ranks *r)
{
    for (size_t i = 0; i < r->ranks; i++)
        if (r->rank[i].number == UINT64_MAX) return;
    if (!r->ranks) return;
    find_axes(r);
    r->split = mpr_arena_alloc(&r->arena, r->axes * (r->axes + 3) * sizeof *r->split);
    size_t *class = mpr_alloc(r->ranks, sizeof *class);
    for (enum mpr_ranks_by by = MPR_RANKS_BY_GROUP; by <= MPR_RANKS_BY_PLACE; by++)
        for (size_t i = 0; i < r->axes; i++) {
            const struct mpr_ranks_axis *a = &r->axis[i];
            memcpy(class, by == MPR_RANKS_BY_GROUP ? a->group : a->place, r->ranks * sizeof *class);
            add_split(r, (struct mpr_ranks_split){ by, a, NULL }, class);
        }
    for (const struct mpr_ranks_axis *a = r->axis; a < r->axis + r->axes; a++)
        for (const struct mpr_ranks_axis *b = a + 1; b < r->axis + r->axes; b++) {
            join(class, a, b, r->ranks);
            add_split(r, (struct mpr_ranks_split){ MPR_RANKS_BY_JOINED, a, b }, class);
        }
    if (r->splits) qsort(r->split, r->splits, sizeof *r->split, by_classes);
    free(class);
}

void mpr_ranks_share(struct mpr_ranks *r)
{
    find_groups(r);
    find_splits(r);
}

/* ---- values of nodes and groups */

static int by_host(const void *left, const void *right, void *arg)
{
    const struct mpr_ranks *r = arg;
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    return strcmp(r->rank[a].host, r->rank[b].host) ?: mpr_compare(a, b);
}

static void find_nodes(struct mpr_ranks *r)
{
    size_t *rank = mpr_arena_alloc(&r->arena, r->ranks * sizeof *rank);
    for (size_t i = 0; i < r->ranks; i++) rank[i] = i;
    if (r->ranks) qsort_r(rank, r->ranks, sizeof *rank, by_host, r);
    r->node = mpr_arena_alloc(&r->arena, r->ranks * sizeof *r->node);
    for (size_t first = 0, end; first < r->ranks; first = end) {
        struct mpr_ranks_node *n = &r->node[r->nodes++];
        n->host = r->rank[rank[first]].host;
        for (end = first; end < r->ranks && strcmp(r->rank[rank[end]].host, n->host) == 0; end++) {
            const uint64_t rss = r->rank[rank[end]].digest->process->rss_high;
            n->failed += r->rank[rank[end]].failed_ns != UINT64_MAX;
            if (n->rss_sum != UINT64_MAX) n->rss_sum = rss == UINT64_MAX ? rss : n->rss_sum + rss;
        }
        if (r->measures)
            n->values = mpr_ranks_class_of(r->measure[r->shown].value, rank + first, end - first);
    }
}

static struct mpr_ranks_kind kind_of(struct mpr_ranks *r, size_t first, size_t groups)
{
    uint64_t *median = mpr_alloc(groups, sizeof *median), *bytes = mpr_alloc(groups, sizeof *bytes);
    size_t *outlier = mpr_arena_alloc(&r->arena, groups * sizeof *outlier);
    for (size_t i = 0; i < groups; i++) {
        median[i] = r->group[first + i].median;
        bytes[i] = r->group[first + i].bytes;
    }
    const struct mpr_ranks_kind kind = { .size = r->group[first].size,
                                         .first_use = r->group[first].first_use,
                                         .first = first,
                                         .groups = groups,
                                         .median = mpr_outliers_median(median, groups),
                                         .bytes = mpr_outliers_median(bytes, groups),
                                         .outlier = outlier,
                                         .outliers = mpr_outliers_find(median, groups, outlier) };
    for (size_t i = 0; i < kind.outliers; i++) outlier[i] += first;
    free(median);
    free(bytes);
    return kind;
}

void mpr_ranks_gather(struct mpr_ranks *r)
{
    find_nodes(r);
    r->kind = mpr_arena_alloc(&r->arena, r->groups * sizeof *r->kind);
    for (struct mpr_ranks_group *g = r->group; r->measures && g < r->group + r->groups; g++) {
        const struct mpr_ranks_class c =
            mpr_ranks_class_of(r->measure[r->shown].value, g->rank, g->present);
        g->median = c.median;
        g->max = c.max;
    }
    for (size_t i = 0, end; i < r->groups; i = end) {
        for (end = i; end < r->groups && r->group[end].size == r->group[i].size &&
                      strcmp(r->group[end].first_use, r->group[i].first_use) == 0;)
            end++;
        r->kind[r->kinds++] = kind_of(r, i, end - i);
    }
}
