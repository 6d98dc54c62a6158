/* Ranks by node, and by the communicators that they share. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "apart.h"
#include "fold.h"
#include "ranks_parts.h"

static uint64_t value_of(const struct mpr_ranks *r, size_t rank)
{
    return r->measures ? r->measure[r->shown].value[rank] : 0;
}

/* The median of some ranks' values. */
static uint64_t median_of(const struct mpr_ranks *r, const size_t *rank, size_t ranks)
{
    uint64_t *value = mpr_alloc(ranks, sizeof *value);
    for (size_t i = 0; i < ranks; i++) value[i] = value_of(r, rank[i]);
    const uint64_t median = mpr_apart_median(value, ranks);
    free(value);
    return median;
}

/* ---- nodes */

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
        if (!i || value > n.most) n.most = value_of(r, n.most_rank = rank[i]);
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
        for (end = i;
             end < r->ranks && strcmp(r->rank[rank[end]].host, r->rank[rank[i]].host) == 0;)
            end++;
        r->node[r->nodes++] = node_of(r, rank + i, end - i);
    }
    free(rank);
}

/* ---- communicators */

/* A rank of one. */
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

static size_t find_members(const struct mpr_ranks *r, struct member **member)
{
    size_t members = 0, cap = 0;
    *member = NULL;
    for (size_t i = 0; i < r->ranks; i++) {
        const struct mpr_digest *d = r->rank[i].digest;
        for (size_t k = 0; k < d->comms; k++) {
            if (!*d->comm[k].communicator) continue;
            MPR_GROW(*member, members, cap);
            (*member)[members++] = (struct member){ &d->comm[k], i };
        }
    }
    if (members) qsort(*member, members, sizeof **member, by_comm);
    return members;
}

/* "{0..7}"; places in the list where ranks have no numbers. */
static const char *set_of(struct mpr_ranks *r, const size_t *rank, size_t ranks)
{
    uint64_t *number = mpr_alloc(ranks, sizeof *number);
    for (size_t i = 0; i < ranks; i++)
        number[i] = r->rank[rank[i]].number != UINT64_MAX ? r->rank[rank[i]].number : rank[i];
    const char *set = ranks == 1 ? r->rank[rank[0]].name : mpr_fold_set(&r->arena, number, ranks);
    free(number);
    return set;
}

static struct mpr_ranks_group group_of(struct mpr_ranks *r, const struct member *m, size_t members)
{
    struct mpr_ranks_group g = { .name = m->comm->communicator,
                                 .size = m->comm->ranks,
                                 .first_use = m->comm->first_use,
                                 .rank = mpr_arena_alloc(&r->arena, members * sizeof *g.rank) };
    uint64_t *bytes = mpr_alloc(members, sizeof *bytes);
    for (size_t i = 0; i < members; i++) {
        if (i && m[i].rank == m[i - 1].rank) continue; /* several devices of one process */
        bytes[g.present] = m[i].comm->bytes;
        g.rank[g.present++] = m[i].rank;
        if (value_of(r, m[i].rank) > g.most) g.most = value_of(r, m[i].rank);
    }
    g.bytes = mpr_apart_median(bytes, g.present);
    g.median = median_of(r, g.rank, g.present);
    g.members = set_of(r, g.rank, g.present);
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

static bool same_kind(const struct mpr_ranks_group *a, const struct mpr_ranks_group *b)
{
    return a->size == b->size && strcmp(a->first_use, b->first_use) == 0;
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
                                         .median = mpr_apart_median(median, groups),
                                         .bytes = mpr_apart_median(bytes, groups),
                                         .apart = apart,
                                         .aparts = mpr_apart_find(median, groups, apart) };
    for (size_t i = 0; i < kind.aparts; i++) apart[i] += first;
    free(median);
    free(bytes);
    return kind;
}

static void gather_groups(struct mpr_ranks *r)
{
    struct member *member;
    const size_t members = find_members(r, &member);
    r->group = mpr_arena_alloc(&r->arena, members * sizeof *r->group);
    r->kind = mpr_arena_alloc(&r->arena, members * sizeof *r->kind);
    for (size_t i = 0, end; i < members; i = end) {
        for (end = i; end < members &&
                      strcmp(member[end].comm->communicator, member[i].comm->communicator) == 0;)
            end++;
        r->group[r->groups++] = group_of(r, member + i, end - i);
    }
    if (r->groups) qsort(r->group, r->groups, sizeof *r->group, by_kind);
    for (size_t i = 0, end; i < r->groups; i = end) {
        for (end = i; end < r->groups && same_kind(&r->group[end], &r->group[i]);) end++;
        r->kind[r->kinds++] = kind_of(r, i, end - i);
    }
    free(member);
}

void mpr_ranks_gather(struct mpr_ranks *r)
{
    gather_nodes(r);
    gather_groups(r);
}
