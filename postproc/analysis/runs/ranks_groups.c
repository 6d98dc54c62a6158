/* The ranks that share communicators, the partitions of the ranks by these, and the values of nodes
 * and groups. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "numbered_lines.h"
#include "outliers.h"
#include "ranks_parts.h"

const char *mpr_ranks_set(struct mpr_ranks *r, const size_t *rank, size_t ranks)
{
    uint64_t *number = mpr_alloc(ranks, sizeof *number);
    for (size_t i = 0; i < ranks; i++)
        number[i] = r->rank[rank[i]].number != UINT64_MAX ? r->rank[rank[i]].number : rank[i];
    const char *set = ranks == 1 ? r->rank[rank[0]].name : mpr_number_set(&r->arena, number, ranks);
    free(number);
    return set;
}

/* ---- communicators */

struct member {
    const struct mpr_digest_comm *comm;
    size_t rank;
};

static int by_comm(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    const int order = strcmp(a->comm->communicator, b->comm->communicator);
    if (order) return order;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

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
    g.members = mpr_ranks_set(r, g.rank, g.present);
    free(bytes);
    return g;
}

static int by_kind(const void *left, const void *right)
{
    const struct mpr_ranks_group *a = left, *b = right;
    if (a->size != b->size) return a->size > b->size ? -1 : 1;
    const int order = strcmp(a->first_use, b->first_use);
    if (order) return order;
    for (size_t i = 0; i < a->present && i < b->present; i++)
        if (a->rank[i] != b->rank[i]) return a->rank[i] < b->rank[i] ? -1 : 1;
    return a->present != b->present ? (a->present > b->present ? -1 : 1) : strcmp(a->name, b->name);
}

void mpr_ranks_share(struct mpr_ranks *r)
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
 * Groups are of one axis if they have the same number of ranks, at the same distances from each
 * other, and no rank is in two of them: {0,1} and {2,3}, or {0,8,16} and {1,9,17}.  If ranks of a
 * group left no digest, the known distances must agree. */

enum { AXES_MAX = 8, PATTERNS_MAX = 64 };
static const size_t none = SIZE_MAX;

/* Returns true if all ranks of the group are there, and each has its own place. */
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

/* Returns the ranks' numbers by their places in a whole group. */
static uint64_t *pattern_of(const struct mpr_ranks *r, const struct mpr_ranks_group *g)
{
    uint64_t *pattern = mpr_alloc(g->present, sizeof *pattern);
    for (size_t i = 0; i < g->present; i++) pattern[g->place[i]] = r->rank[g->rank[i]].number;
    return pattern;
}

/* Returns true if the group's numbers have the pattern's distances.  Numbers may be smaller than
 * the pattern's, because all differences wrap around alike. */
static bool fits(const struct mpr_ranks *r, const struct mpr_ranks_group *g,
                 const struct mpr_ranks_group *first, const uint64_t *pattern)
{
    if (g->size != first->size) return false;
    for (size_t i = 0; i < g->present; i++)
        if (g->place[i] >= g->size || r->rank[g->rank[i]].number - pattern[g->place[i]] !=
                                          r->rank[g->rank[0]].number - pattern[g->place[0]])
            return false;
    return true;
}

/* Adds a group to the axis, unless its ranks are in groups already.  Returns false if they are in
 * several groups, or only some of them are; one group with another communicator is the same. */
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

/* Adds whole groups first, which leave ranks for the others.  Returns false if whole groups
 * overlap, a rank has no group, or there is only one group. */
static bool fill_axis(const struct mpr_ranks *r, struct mpr_ranks_axis *axis,
                      const uint64_t *pattern)
{
    for (int whole = 1; whole >= 0; whole--)
        for (size_t i = 0; i < r->groups; i++) {
            const struct mpr_ranks_group *g = &r->group[i];
            if (is_whole(g) != whole || !fits(r, g, axis->first, pattern)) continue;
            if (!add_group(axis, g) && whole) return false;
        }
    for (size_t i = 0; i < r->ranks; i++)
        if (axis->group[i] == none) return false;
    return axis->groups > 1;
}

static void find_axes(struct mpr_ranks *r)
{
    struct {
        const struct mpr_ranks_group *first;
        uint64_t *pattern;
    } tried[PATTERNS_MAX];
    size_t patterns = 0;
    r->axis = mpr_arena_alloc(&r->arena, AXES_MAX * sizeof *r->axis);
    for (size_t i = 0; i < r->groups && r->axes < AXES_MAX && patterns < PATTERNS_MAX; i++) {
        const struct mpr_ranks_group *g = &r->group[i];
        bool known = false;
        if (g->size >= r->ranks || !is_whole(g)) continue;
        for (size_t k = 0; k < patterns && !known; k++)
            known = fits(r, g, tried[k].first, tried[k].pattern);
        if (known) continue;
        uint64_t *pattern = pattern_of(r, g);
        tried[patterns].first = g;
        tried[patterns++].pattern = pattern;
        struct mpr_ranks_axis axis = {
            .first = g,
            .group = mpr_arena_alloc(&r->arena, r->ranks * sizeof *axis.group),
            .place = mpr_arena_alloc(&r->arena, r->ranks * sizeof *axis.place)
        };
        for (size_t k = 0; k < r->ranks; k++) axis.group[k] = none;
        if (fill_axis(r, &axis, pattern)) r->axis[r->axes++] = axis;
    }
    while (patterns) free(tried[--patterns].pattern);
}

/* ---- partitions of the ranks */

/* Renumbers the classes in the order of their first ranks.  Returns their number. */
static size_t renumber(size_t *class, size_t ranks)
{
    size_t *old = mpr_alloc(ranks, sizeof *old), classes = 0;
    for (size_t i = 0; i < ranks; i++) {
        size_t k = 0;
        while (k < classes && old[k] != class[i]) k++;
        if (k == classes) old[classes++] = class[i];
        class[i] = k;
    }
    free(old);
    return classes;
}

static bool is_known(const struct mpr_ranks *r, const struct mpr_ranks_split *s)
{
    for (size_t i = 0; i < r->splits; i++) {
        const struct mpr_ranks_split *o = &r->split[i];
        if (o->classes == s->classes && memcmp(o->rank, s->rank, r->ranks * sizeof *s->rank) == 0 &&
            memcmp(o->begin, s->begin, (s->classes + 1) * sizeof *s->begin) == 0)
            return true;
    }
    return false;
}

/* Adds the partition by @class (by rank), unless it is known.  Classes have at least two ranks on
 * average, because nothing can be compared in smaller ones. */
static void add_split(struct mpr_ranks *r, struct mpr_ranks_split split, size_t *class)
{
    size_t at = 0;
    split.classes = renumber(class, r->ranks);
    if (split.classes < 2 || split.classes > r->ranks / 2) return;
    split.rank = mpr_arena_alloc(&r->arena, r->ranks * sizeof *split.rank);
    split.begin = mpr_arena_alloc(&r->arena, (split.classes + 1) * sizeof *split.begin);
    for (size_t k = 0; k < split.classes; k++) {
        split.begin[k] = at;
        for (size_t i = 0; i < r->ranks; i++)
            if (class[i] == k) split.rank[at++] = i;
    }
    split.begin[split.classes] = at;
    if (!is_known(r, &split)) r->split[r->splits++] = split;
}

static size_t root_of(const size_t *parent, size_t at)
{
    while (parent[at] != at) at = parent[at];
    return at;
}

/* Joins groups of one axis that share a group of the other axis.  Fills the class of each rank. */
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

static int by_classes(const void *left, const void *right)
{
    const struct mpr_ranks_split *a = left, *b = right;
    if (a->classes != b->classes) return a->classes < b->classes ? -1 : 1;
    return a->by < b->by ? -1 : a->by > b->by;
}

void mpr_ranks_split(struct mpr_ranks *r)
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

/* ---- values of nodes and groups */

static uint64_t value_of(const struct mpr_ranks *r, size_t rank)
{
    return r->measures ? r->measure[r->shown].value[rank] : 0;
}

static uint64_t median_of(const struct mpr_ranks *r, const size_t *rank, size_t ranks)
{
    uint64_t *value = mpr_alloc(ranks, sizeof *value);
    for (size_t i = 0; i < ranks; i++) value[i] = value_of(r, rank[i]);
    const uint64_t median = mpr_outliers_median(value, ranks);
    free(value);
    return median;
}

static int by_host(const void *left, const void *right, void *arg)
{
    const struct mpr_ranks *r = arg;
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    const int order = strcmp(r->rank[a].host, r->rank[b].host);
    return order ? order : a < b ? -1 : 1;
}

static struct mpr_ranks_node node_of(const struct mpr_ranks *r, const size_t *rank, size_t ranks)
{
    struct mpr_ranks_node n = { .host = r->rank[rank[0]].host,
                                .ranks = ranks,
                                .median = median_of(r, rank, ranks) };
    for (size_t i = 0; i < ranks; i++) {
        const uint64_t value = value_of(r, rank[i]),
                       rss = r->rank[rank[i]].digest->process->rss_high;
        if (!i || value > n.most) {
            n.most = value;
            n.most_rank = rank[i];
        }
        n.failed += r->rank[rank[i]].failed_ns != UINT64_MAX;
        if (n.rss_sum != UINT64_MAX) n.rss_sum = rss == UINT64_MAX ? rss : n.rss_sum + rss;
    }
    return n;
}

static void gather_nodes(struct mpr_ranks *r)
{
    size_t *rank = mpr_alloc(r->ranks, sizeof *rank);
    for (size_t i = 0; i < r->ranks; i++) rank[i] = i;
    if (r->ranks) qsort_r(rank, r->ranks, sizeof *rank, by_host, r);
    r->node = mpr_arena_alloc(&r->arena, r->ranks * sizeof *r->node);
    for (size_t i = 0, end; i < r->ranks; i = end) {
        const char *host = r->rank[rank[i]].host;
        for (end = i; end < r->ranks && strcmp(r->rank[rank[end]].host, host) == 0;) end++;
        r->node[r->nodes++] = node_of(r, rank + i, end - i);
    }
    free(rank);
}

static struct mpr_ranks_kind kind_of(struct mpr_ranks *r, size_t first, size_t groups)
{
    uint64_t *median = mpr_alloc(groups, sizeof *median), *bytes = mpr_alloc(groups, sizeof *bytes);
    size_t *apart = mpr_arena_alloc(&r->arena, groups * sizeof *apart);
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
                                         .apart = apart,
                                         .aparts = mpr_outliers_find(median, groups, apart) };
    for (size_t i = 0; i < kind.aparts; i++) apart[i] += first;
    free(median);
    free(bytes);
    return kind;
}

void mpr_ranks_gather(struct mpr_ranks *r)
{
    gather_nodes(r);
    r->kind = mpr_arena_alloc(&r->arena, r->groups * sizeof *r->kind);
    for (size_t i = 0; i < r->groups; i++) {
        struct mpr_ranks_group *g = &r->group[i];
        g->median = median_of(r, g->rank, g->present);
        for (size_t k = 0; k < g->present; k++)
            if (value_of(r, g->rank[k]) > g->most) g->most = value_of(r, g->rank[k]);
    }
    for (size_t i = 0, end; i < r->groups; i = end) {
        for (end = i; end < r->groups && r->group[end].size == r->group[i].size &&
                      strcmp(r->group[end].first_use, r->group[i].first_use) == 0;)
            end++;
        r->kind[r->kinds++] = kind_of(r, i, end - i);
    }
}
