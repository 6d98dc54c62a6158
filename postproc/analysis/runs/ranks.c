#include "ranks.h"

#include <stdlib.h>

#include "alloc.h"
#include "ranks_parts.h"

struct failure {
    uint64_t time;
    size_t rank;
};

static int by_time(const void *left, const void *right)
{
    const struct failure *a = left, *b = right;
    if (a->time != b->time) return a->time < b->time ? -1 : 1;
    return a->rank < b->rank ? -1 : 1;
}

static void find_failures(struct mpr_ranks *r)
{
    struct failure *found = mpr_alloc(r->ranks, sizeof *found);
    for (size_t i = 0; i < r->ranks; i++)
        if (r->rank[i].failed_ns != UINT64_MAX)
            found[r->failures++] = (struct failure){ r->rank[i].failed_ns, i };
    if (r->failures) qsort(found, r->failures, sizeof *found, by_time);
    r->failed = mpr_arena_alloc(&r->arena, r->failures * sizeof *r->failed);
    for (size_t i = 0; i < r->failures; i++) r->failed[i] = found[i].rank;
    free(found);
}

void mpr_ranks_make(struct mpr_ranks *r, const struct mpr_digest *digest, size_t digests)
{
    *r = (struct mpr_ranks){ .missing = "" };
    mpr_ranks_choose(r, digest, digests);
    mpr_ranks_align(r);
    mpr_ranks_share(r);
    mpr_ranks_split(r);
    mpr_ranks_measure(r);
    mpr_ranks_explain(r);
    mpr_ranks_gather(r);
    mpr_ranks_heat(r);
    find_failures(r);
    for (size_t i = 0; i < r->ranks; i++) r->incomplete |= r->rank[i].digest->process->incomplete;
    r->incomplete |= r->missings || r->doubles;
}

void mpr_ranks_free(struct mpr_ranks *r) { mpr_arena_free(&r->arena); }
