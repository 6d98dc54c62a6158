/* Ranks by node, and by the communicators that they share. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "apart.h"
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

static void measure_group(const struct mpr_ranks *r, struct mpr_ranks_group *g)
{
    g->median = median_of(r, g->rank, g->present);
    for (size_t i = 0; i < g->present; i++)
        if (value_of(r, g->rank[i]) > g->most) g->most = value_of(r, g->rank[i]);
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
    r->kind = mpr_arena_alloc(&r->arena, r->groups * sizeof *r->kind);
    for (size_t i = 0; i < r->groups; i++) measure_group(r, &r->group[i]);
    for (size_t i = 0, end; i < r->groups; i = end) {
        for (end = i; end < r->groups && same_kind(&r->group[end], &r->group[i]);) end++;
        r->kind[r->kinds++] = kind_of(r, i, end - i);
    }
}

void mpr_ranks_gather(struct mpr_ranks *r)
{
    gather_nodes(r);
    gather_groups(r);
}
