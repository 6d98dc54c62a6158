/* Which process stands for which rank. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "fold.h"
#include "mpf/end.h"
#include "ranks_parts.h"

enum { GENERATIONS = 16, MISSING_MOST = 1 << 20 };

/* A process with the rank that it claims. */
struct claim {
    const struct mpr_digest *digest;
    uint64_t number; /* UINT64_MAX: its rank is no number */
    uint64_t device, largest;
};

static uint64_t number_of(const char *rank)
{
    enum { DIGITS = 9 };
    const size_t length = strlen(rank);
    const bool good = length && length <= DIGITS && strspn(rank, "0123456789") == length;
    return good ? strtoull(rank, NULL, 10) : UINT64_MAX;
}

static struct claim claim_of(const struct mpr_digest *d)
{
    struct claim c = { .digest = d, .number = number_of(d->process->rank) };
    for (size_t i = 0; i < d->heaps; i++) {
        const uint64_t peak = d->heap[i].peak_bytes;
        if (peak > c.largest) c.largest = peak;
        if (mpf_heap_is_gpu(d->heap[i].heap) && peak > c.device) c.device = peak;
    }
    return c;
}

/* By rank; of one rank who stands for it first; without one by start. */
static int by_claim(const void *left, const void *right)
{
    const struct claim *a = left, *b = right;
    const struct mpr_digest_process *x = a->digest->process, *y = b->digest->process;
    if (a->number != b->number) return a->number < b->number ? -1 : 1;
    const int rank = strcmp(x->rank, y->rank);
    if (rank) return rank;
    if (*x->rank && a->device != b->device) return a->device > b->device ? -1 : 1;
    if (*x->rank && a->largest != b->largest) return a->largest > b->largest ? -1 : 1;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    const int host = strcmp(x->host, y->host);
    if (host) return host;
    if (x->pid != y->pid) return x->pid < y->pid ? -1 : 1;
    return strcmp(x->file, y->file);
}

/* ---- who belongs to whom */

static const struct mpr_digest_process *process_of(const struct claim *of, size_t count,
                                                   const char *host, uint64_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (of[i].digest->process->pid == pid && strcmp(of[i].digest->process->host, host) == 0)
            return of[i].digest->process;
    return NULL;
}

/* The oldest one of these that it descends from, or itself. */
static uint64_t root_of(const struct claim *of, size_t count, const struct mpr_digest_process *p)
{
    for (int i = 0; i < GENERATIONS; i++) {
        const struct mpr_digest_process *parent = process_of(of, count, p->host, p->ppid);
        if (!parent || parent == p || parent->pid == p->pid) break;
        p = parent;
    }
    return p->pid;
}

static bool overlap(const struct mpr_digest_process *a, const struct mpr_digest_process *b)
{
    return a->start_ns && b->start_ns && a->start_ns < b->start_ns + b->duration_ns &&
           b->start_ns < a->start_ns + a->duration_ns;
}

/* Who started a worker may have left no log; two jobs in one directory ran one after the other. */
static bool belongs(const struct claim *of, size_t count, size_t to, size_t which)
{
    const struct mpr_digest_process *a = of[to].digest->process, *b = of[which].digest->process;
    return strcmp(a->host, b->host) == 0 &&
           (root_of(of, count, a) == root_of(of, count, b) || overlap(a, b));
}

/* ---- ranks */

static const char *name_of(struct mpr_ranks *r, const struct mpr_digest_process *p)
{
    if (*p->rank) return mpr_arena_format(&r->arena, "rank %.20s", p->rank);
    return mpr_arena_format(&r->arena, "pid %" PRIu64, p->pid);
}

static void add_rank(struct mpr_ranks *r, const struct claim *c)
{
    r->rank[r->ranks++] = (struct mpr_rank){ .digest = c->digest,
                                             .name = name_of(r, c->digest->process),
                                             .host = c->digest->process->host,
                                             .number = c->number };
}

/* Is it the same process, as it was before or after it executed another program? */
static bool same_process(const struct mpr_digest_process *a, const struct mpr_digest_process *b)
{
    return a->pid == b->pid && strcmp(a->host, b->host) == 0 &&
           mpf_end_named(a->start_ns <= b->start_ns ? a->ended : b->ended) == MPF_END_EXEC;
}

/* Those of one rank, of which the first one stands for it. */
static void add_claims(struct mpr_ranks *r, const struct claim *of, size_t count)
{
    add_rank(r, &of[0]);
    for (size_t i = 1; i < count; i++) {
        if (same_process(of[0].digest->process, of[i].digest->process)) r->executed++;
        else if (belongs(of, count, 0, i)) r->belonging++;
        else
            r->doubled[r->doubles++] = (struct mpr_ranks_doubled){ r->rank[r->ranks - 1].name,
                                                                   of[0].digest, of[i].digest };
    }
}

static bool is_larger(const struct claim *a, const struct claim *b)
{
    return a->device != b->device ? a->device > b->device : a->largest > b->largest;
}

/* Of a process that executed programs one after the other, the one that held most.  Sorted by their
 * starts; those that are taken have no digest any more. */
static void add_process(struct mpr_ranks *r, struct claim *claim, size_t claims, size_t first)
{
    struct claim last = claim[first], most = last;
    for (size_t i = first + 1;
         i < claims && mpf_end_named(last.digest->process->ended) == MPF_END_EXEC; i++) {
        if (!claim[i].digest || !same_process(last.digest->process, claim[i].digest->process))
            continue;
        last = claim[i];
        claim[i].digest = NULL;
        if (is_larger(&last, &most)) most = last;
        r->executed++;
    }
    add_rank(r, &most);
}

static bool same_rank(const struct claim *a, const struct claim *b)
{
    return strcmp(a->digest->process->rank, b->digest->process->rank) == 0;
}

static void add_numbered(struct mpr_ranks *r, const struct claim *claim, size_t claims)
{
    for (size_t i = 0, end; i < claims; i = end) {
        end = i + 1;
        while (end < claims && same_rank(&claim[i], &claim[end])) end++;
        if (!*claim[i].digest->process->rank) r->unranked += end - i;
        else add_claims(r, &claim[i], end - i);
    }
}

static void add_all(struct mpr_ranks *r, struct claim *claim, size_t claims)
{
    if (r->numbered) add_numbered(r, claim, claims);
    for (size_t i = 0; !r->numbered && i < claims; i++)
        if (claim[i].digest) add_process(r, claim, claims, i);
}

/* ---- who is missing */

/* As many as the largest communicator has, or as the numbers say. */
static uint64_t size_of_job(const struct mpr_ranks *r)
{
    uint64_t size = 0;
    for (size_t i = 0; i < r->ranks; i++) {
        const struct mpr_digest *d = r->rank[i].digest;
        if (r->rank[i].number != UINT64_MAX && r->rank[i].number >= size)
            size = r->rank[i].number + 1;
        for (size_t k = 0; k < d->comms; k++)
            if (d->comm[k].ranks != UINT64_MAX && d->comm[k].ranks > size) size = d->comm[k].ranks;
    }
    return size < MISSING_MOST ? size : MISSING_MOST;
}

static void find_missing(struct mpr_ranks *r)
{
    const uint64_t size = size_of_job(r);
    uint64_t *missing = mpr_alloc(size, sizeof *missing);
    for (uint64_t number = 0, i = 0; number < size; number++) {
        if (i < r->ranks && r->rank[i].number == number) i++;
        else missing[r->missings++] = number;
    }
    if (r->missings == 1) r->missing = mpr_arena_format(&r->arena, "%" PRIu64, missing[0]);
    else if (r->missings) r->missing = mpr_fold_set(&r->arena, missing, r->missings);
    free(missing);
}

void mpr_ranks_choose(struct mpr_ranks *r, const struct mpr_digest *digest, size_t digests)
{
    struct claim *claim = mpr_alloc(digests, sizeof *claim);
    for (size_t i = 0; i < digests; i++) {
        claim[i] = claim_of(&digest[i]);
        r->numbered |= *digest[i].process->rank != 0;
    }
    if (digests) qsort(claim, digests, sizeof *claim, by_claim);
    r->rank = mpr_arena_alloc(&r->arena, digests * sizeof *r->rank);
    r->doubled = mpr_arena_alloc(&r->arena, digests * sizeof *r->doubled);
    add_all(r, claim, digests);
    if (r->numbered) find_missing(r);
    free(claim);
}
