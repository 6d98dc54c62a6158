/* Which ranks share a communicator. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "apart.h"
#include "fold.h"
#include "ranks_parts.h"

/* ---- communicators of ranks */

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

/* ---- who shares one */

const char *mpr_ranks_set(struct mpr_ranks *r, const size_t *rank, size_t ranks)
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
                                 .rank = mpr_arena_alloc(&r->arena, members * sizeof *g.rank),
                                 .place = mpr_arena_alloc(&r->arena, members * sizeof *g.place) };
    uint64_t *bytes = mpr_alloc(members, sizeof *bytes);
    for (size_t i = 0; i < members; i++) {
        if (i && m[i].rank == m[i - 1].rank) continue; /* several devices of one process */
        bytes[g.present] = m[i].comm->bytes;
        g.place[g.present] = m[i].comm->rank;
        g.rank[g.present++] = m[i].rank;
    }
    g.bytes = mpr_apart_median(bytes, g.present);
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
    struct member *member;
    const size_t members = find_members(r, &member);
    r->group = mpr_arena_alloc(&r->arena, members * sizeof *r->group);
    for (size_t i = 0, end; i < members; i = end) {
        for (end = i; end < members &&
                      strcmp(member[end].comm->communicator, member[i].comm->communicator) == 0;)
            end++;
        r->group[r->groups++] = group_of(r, member + i, end - i);
    }
    if (r->groups) qsort(r->group, r->groups, sizeof *r->group, by_kind);
    free(member);
}
