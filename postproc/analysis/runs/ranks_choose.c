/* The process of each rank, and the clock of its node. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "mpf/end.h"
#include "numbered_lines.h"
#include "ranks_parts.h"

/* ---- claims */

/* A process with the rank that it claims. */
struct claim {
    const struct mpr_digest *digest;
    uint64_t number;          /* UINT64_MAX if its rank is not a number */
    uint64_t device, largest; /* peak bytes: on a device, and of any heap */
};

static struct claim claim_of(const struct mpr_digest *d)
{
    enum { DIGITS = 9 };
    const char *rank = d->process->rank;
    const size_t length = strlen(rank);
    const bool numeric = length && length <= DIGITS && strspn(rank, "0123456789") == length;
    struct claim c = { .digest = d, .number = numeric ? strtoull(rank, NULL, 10) : UINT64_MAX };
    for (size_t i = 0; i < d->heaps; i++) {
        const uint64_t peak = d->heap[i].peak_bytes;
        if (peak > c.largest) c.largest = peak;
        if (mpf_heap_is_gpu(d->heap[i].heap) && peak > c.device) c.device = peak;
    }
    return c;
}

/* Sorts by rank; the claims of one rank by their peaks, others by their start. */
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

/* Returns the pid of the oldest ancestor among the claims, or the process's own. */
static uint64_t root_of(const struct claim *of, size_t count, const struct mpr_digest_process *p)
{
    enum { GENERATIONS = 16 };
    for (int i = 0; i < GENERATIONS; i++) {
        const struct mpr_digest_process *parent = NULL;
        for (size_t k = 0; k < count && !parent; k++) {
            const struct mpr_digest_process *q = of[k].digest->process;
            if (q->pid == p->ppid && strcmp(q->host, p->host) == 0) parent = q;
        }
        if (!parent || parent == p || parent->pid == p->pid) break;
        p = parent;
    }
    return p->pid;
}

/* Returns true if the second process is part of the first one's job.  The parent of a worker may
 * have left no log; two jobs in one directory ran one after the other. */
static bool belongs(const struct claim *of, size_t count, size_t to, size_t which)
{
    const struct mpr_digest_process *a = of[to].digest->process, *b = of[which].digest->process;
    const bool overlap = a->start_ns && b->start_ns && a->start_ns < b->start_ns + b->duration_ns &&
                         b->start_ns < a->start_ns + a->duration_ns;
    return strcmp(a->host, b->host) == 0 &&
           (root_of(of, count, a) == root_of(of, count, b) || overlap);
}

/* Returns true if it is the same process before and after it executed another program. */
static bool same_process(const struct mpr_digest_process *a, const struct mpr_digest_process *b)
{
    return a->pid == b->pid && strcmp(a->host, b->host) == 0 &&
           mpf_end_named(a->start_ns <= b->start_ns ? a->ended : b->ended) == MPF_END_EXEC;
}

/* ---- ranks */

static void add_rank(struct mpr_ranks *r, const struct claim *c)
{
    const struct mpr_digest_process *p = c->digest->process;
    const char *name = *p->rank ? mpr_arena_format(&r->arena, "rank %.20s", p->rank)
                                : mpr_arena_format(&r->arena, "pid %" PRIu64, p->pid);
    r->rank[r->ranks++] = (struct mpr_rank){
        .digest = c->digest, .name = name, .host = p->host, .number = c->number
    };
}

/* Adds the first claim of each rank.  Processes without a rank only count. */
static void add_numbered(struct mpr_ranks *r, const struct claim *claim, size_t claims)
{
    for (size_t first = 0, end; first < claims; first = end) {
        const struct claim *of = &claim[first];
        const char *rank = of->digest->process->rank;
        for (end = first + 1; end < claims && strcmp(claim[end].digest->process->rank, rank) == 0;)
            end++;
        if (!*rank) {
            r->unranked += end - first;
            continue;
        }
        add_rank(r, of);
        for (size_t i = 1; i < end - first; i++) {
            if (same_process(of->digest->process, of[i].digest->process)) r->executed++;
            else if (belongs(of, end - first, 0, i)) r->belonging++;
            else
                r->doubled[r->doubles++] = (struct mpr_ranks_doubled){ r->rank[r->ranks - 1].name,
                                                                       of->digest, of[i].digest };
        }
    }
}

/* Adds each process without a rank, by the program that held most of those that it executed.  The
 * claims are sorted by start; those that are taken lose their digest. */
static void add_unnumbered(struct mpr_ranks *r, struct claim *claim, size_t claims)
{
    for (size_t first = 0; first < claims; first++) {
        if (!claim[first].digest) continue;
        struct claim last = claim[first], largest = last;
        for (size_t i = first + 1;
             i < claims && mpf_end_named(last.digest->process->ended) == MPF_END_EXEC; i++) {
            if (!claim[i].digest || !same_process(last.digest->process, claim[i].digest->process))
                continue;
            last = claim[i];
            claim[i].digest = NULL;
            if (last.device != largest.device ? last.device > largest.device
                                              : last.largest > largest.largest)
                largest = last;
            r->executed++;
        }
        add_rank(r, &largest);
    }
}

/* The job has as many ranks as the largest communicator, or as the largest rank requires. */
static void find_missing(struct mpr_ranks *r)
{
    enum { SIZE_MOST = 1 << 20 };
    uint64_t size = 0;
    for (size_t i = 0; i < r->ranks; i++) {
        const struct mpr_digest *d = r->rank[i].digest;
        if (r->rank[i].number != UINT64_MAX && r->rank[i].number >= size)
            size = r->rank[i].number + 1;
        for (size_t k = 0; k < d->comms; k++)
            if (d->comm[k].ranks != UINT64_MAX && d->comm[k].ranks > size) size = d->comm[k].ranks;
    }
    if (size > SIZE_MOST) size = SIZE_MOST;
    uint64_t *missing = mpr_alloc(size, sizeof *missing);
    for (uint64_t number = 0, i = 0; number < size; number++) {
        if (i < r->ranks && r->rank[i].number == number) i++;
        else missing[r->missings++] = number;
    }
    if (r->missings == 1) r->missing = mpr_arena_format(&r->arena, "%" PRIu64, missing[0]);
    else if (r->missings) r->missing = mpr_number_set(&r->arena, missing, r->missings);
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
    if (r->numbered) {
        add_numbered(r, claim, digests);
        find_missing(r);
    } else add_unnumbered(r, claim, digests);
    free(claim);
}

/* ---- clocks of nodes
 *
 * All ranks of a communicator make it together, so its nodes see it at one time, within the time of
 * its making.  Without a known communicator, the first instance of the repeated range counts. Ranks
 * begin it when they are ready, so it shows only clocks that are far apart. */

/* When a node saw an event, by its clock. */
struct sight {
    const char *event; /* the communicator's hash, the range's name */
    size_t node;
    uint64_t time;
};

struct sights {
    struct sight *at;
    size_t count, cap;
};

struct node {
    const char *host;
    enum mpr_clock_source by;
    bool known;
    int64_t ahead;
};

struct clocks {
    struct node *node;
    size_t nodes;
};

static size_t node_of(struct clocks *c, const char *host)
{
    size_t i = 0;
    while (i < c->nodes && strcmp(c->node[i].host, host) != 0) i++;
    if (i == c->nodes) c->node[c->nodes++] = (struct node){ .host = host };
    return i;
}

static void add_sight(struct sights *s, const char *event, size_t node, uint64_t time)
{
    MPR_GROW(s->at, s->count, s->cap);
    s->at[s->count++] = (struct sight){ event, node, time };
}

static int by_event(const void *left, const void *right)
{
    const struct sight *a = left, *b = right;
    const int order = strcmp(a->event, b->event);
    if (order) return order;
    if (a->node != b->node) return a->node < b->node ? -1 : 1;
    return a->time < b->time ? -1 : a->time > b->time;
}

/* Reduces the sights of one event to one of each node, in place: the median of its ranks. */
static size_t merge_nodes(struct sight *s, size_t count)
{
    size_t nodes = 0;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && s[end].node == s[i].node;) end++;
        s[nodes++] = s[(i + end) / 2];
    }
    return nodes;
}

/* Derives the clocks of nodes that saw the event with a node whose clock is known.  Returns true if
 * a clock became known. */
static bool learn(struct clocks *c, const struct sight *s, size_t count, enum mpr_clock_source by)
{
    const struct sight *known = NULL;
    bool any = false;
    for (size_t i = 0; !known && i < count; i++)
        if (c->node[s[i].node].known) known = &s[i];
    for (size_t i = 0; known && i < count; i++) {
        struct node *n = &c->node[s[i].node];
        if (n->known) continue;
        any = n->known = true;
        n->by = by;
        n->ahead = mpr_signed_add(c->node[known->node].ahead,
                                  mpr_signed_difference(known->time, s[i].time));
    }
    return any;
}

/* Follows the events from node to node, and frees the sights. */
static void follow(struct clocks *c, struct sights *s, enum mpr_clock_source by)
{
    size_t events = 0;
    size_t *from = mpr_alloc(s->count + 1, sizeof *from),
           *nodes = mpr_alloc(s->count + 1, sizeof *nodes);
    if (s->count) qsort(s->at, s->count, sizeof *s->at, by_event);
    for (size_t i = 0, end; i < s->count; i = end) {
        for (end = i; end < s->count && strcmp(s->at[end].event, s->at[i].event) == 0;) end++;
        from[events] = i;
        nodes[events++] = merge_nodes(&s->at[i], end - i);
    }
    for (bool any = true; any;) {
        any = false;
        for (size_t i = 0; i < events; i++) any |= learn(c, &s->at[from[i]], nodes[i], by);
    }
    free(from);
    free(nodes);
    free(s->at);
}

/* Corrects the wall times of a rank by the clock of its node. */
static void set_times(struct mpr_ranks *r, struct mpr_rank *rank)
{
    const struct mpr_digest_process *p = rank->digest->process;
    for (size_t i = 0; i < r->clocks; i++)
        if (r->clock[i].shifted && strcmp(r->clock[i].host, rank->host) == 0) {
            rank->clock_ns = r->clock[i].ahead_ns;
            break;
        }
    if (p->start_ns) {
        const int64_t start = mpr_signed_sub(mpr_saturating_signed(p->start_ns), rank->clock_ns);
        rank->start_ns = start > 0 ? (uint64_t)start : 0;
    }
    rank->failed_ns = p->failed_ns == UINT64_MAX ? UINT64_MAX : rank->start_ns + p->failed_ns;
}

void mpr_ranks_correct_clocks(struct mpr_ranks *r)
{
    static const int64_t apart_ns[] = {
        [MPR_CLOCK_BY_COMM] = 1000000000, [MPR_CLOCK_BY_RANGE] = 30000000000
    };
    struct clocks c = { .node = mpr_alloc(r->ranks + 1, sizeof *c.node) };
    struct sights comms = { 0 }, ranges = { 0 };
    for (size_t i = 0; i < r->ranks; i++) {
        const struct mpr_digest *d = r->rank[i].digest;
        const size_t node = node_of(&c, r->rank[i].host);
        const uint64_t start = d->process->start_ns;
        if (!start) continue;
        for (size_t k = 0; k < d->comms; k++)
            if (*d->comm[k].communicator && d->comm[k].first_ns != UINT64_MAX)
                add_sight(&comms, d->comm[k].communicator, node, start + d->comm[k].first_ns);
        if (d->instances)
            add_sight(&ranges, d->instance[0].range, node, start + d->instance[0].begin_ns);
    }
    if (c.nodes) c.node[0].known = true;
    follow(&c, &comms, MPR_CLOCK_BY_COMM);
    follow(&c, &ranges, MPR_CLOCK_BY_RANGE);
    r->clock = mpr_arena_alloc(&r->arena, c.nodes * sizeof *r->clock);
    for (size_t i = 1; i < c.nodes; i++) {
        const struct node *n = &c.node[i];
        if (n->known)
            r->clock[r->clocks++] = (struct mpr_ranks_clock){ n->host, n->by, n->ahead,
                                                              llabs(n->ahead) > apart_ns[n->by] };
    }
    for (size_t i = 0; i < r->ranks; i++) set_times(r, &r->rank[i]);
    free(c.node);
}
