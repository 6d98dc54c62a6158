/* Clocks of nodes that differ: told by what happens on several nodes at once.
 *
 * A communicator is made by all of its ranks together, so nodes that have one in common see it at
 * one time, within what its making takes.  Where no communicator is known, the first instance of
 * the range that repeats stands for that; its ranks begin it when they are ready, so only clocks
 * that lie far apart are told by it. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "amount.h"
#include "ranks_parts.h"

#define SECOND INT64_C(1000000000)
static const int64_t apart[] = { [MPR_CLOCK_BY_COMM] = SECOND, [MPR_CLOCK_BY_RANGE] = 30 * SECOND };

/* When a node saw something, by its clock. */
struct sight {
    const char *what; /* the communicator's hash, the range's name */
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
    struct mpr_ranks *ranks;
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

static void add(struct sights *s, const char *what, size_t node, uint64_t time)
{
    MPR_GROW(s->at, s->count, s->cap);
    s->at[s->count++] = (struct sight){ what, node, time };
}

static int by_what(const void *left, const void *right)
{
    const struct sight *a = left, *b = right;
    const int order = strcmp(a->what, b->what);
    if (order) return order;
    if (a->node != b->node) return a->node < b->node ? -1 : 1;
    return a->time < b->time ? -1 : a->time > b->time;
}

static void see_comms(struct clocks *c, struct sights *s, const struct mpr_rank *rank)
{
    const struct mpr_digest *d = rank->digest;
    for (size_t i = 0; i < d->comms; i++)
        if (*d->comm[i].communicator && d->comm[i].first_ns != UINT64_MAX)
            add(s, d->comm[i].communicator, node_of(c, rank->host),
                d->process->start_ns + d->comm[i].first_ns);
}

static void see_range(struct clocks *c, struct sights *s, const struct mpr_rank *rank)
{
    const struct mpr_digest *d = rank->digest;
    if (d->instances)
        add(s, d->instance[0].range, node_of(c, rank->host),
            d->process->start_ns + d->instance[0].begin_ns);
}

/* ---- from node to node */

/* Of one thing the time of each node, in place: the middle one of its ranks'. */
static size_t of_nodes(struct sight *s, size_t count)
{
    size_t nodes = 0;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && s[end].node == s[i].node;) end++;
        s[nodes++] = s[(i + end) / 2];
    }
    return nodes;
}

/* Nodes that saw it with one whose clock is known.  True: something new is known. */
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
        n->ahead = mpr_plus(c->node[known->node].ahead, mpr_change(known->time, s[i].time));
    }
    return any;
}

static void follow(struct clocks *c, struct sights *s, enum mpr_clock_source by)
{
    size_t things = 0;
    size_t *from = mpr_alloc(s->count + 1, sizeof *from),
           *nodes = mpr_alloc(s->count + 1, sizeof *nodes);
    if (s->count) qsort(s->at, s->count, sizeof *s->at, by_what);
    for (size_t i = 0, end; i < s->count; i = end) {
        for (end = i; end < s->count && strcmp(s->at[end].what, s->at[i].what) == 0;) end++;
        from[things] = i;
        nodes[things++] = of_nodes(&s->at[i], end - i);
    }
    for (bool any = true; any;) {
        any = false;
        for (size_t i = 0; i < things; i++) any |= learn(c, &s->at[from[i]], nodes[i], by);
    }
    free(from);
    free(nodes);
    free(s->at);
}

static void tell(struct clocks *c)
{
    struct mpr_ranks *r = c->ranks;
    r->clock = mpr_arena_alloc(&r->arena, c->nodes * sizeof *r->clock);
    for (size_t i = 1; i < c->nodes; i++) {
        const struct node *n = &c->node[i];
        if (!n->known) continue;
        r->clock[r->clocks++] =
            (struct mpr_ranks_clock){ n->host, n->by, n->ahead, llabs(n->ahead) > apart[n->by] };
    }
}

static int64_t ahead_of(const struct mpr_ranks *r, const char *host)
{
    for (size_t i = 0; i < r->clocks; i++)
        if (r->clock[i].shifted && strcmp(r->clock[i].host, host) == 0) return r->clock[i].ahead_ns;
    return 0;
}

static uint64_t shifted(uint64_t time, int64_t ahead)
{
    const int64_t to = mpr_minus(mpr_amount(time), ahead);
    return to > 0 ? (uint64_t)to : 0;
}

static void set_times(struct mpr_ranks *r)
{
    for (size_t i = 0; i < r->ranks; i++) {
        struct mpr_rank *rank = &r->rank[i];
        const struct mpr_digest_process *p = rank->digest->process;
        rank->clock_ns = ahead_of(r, rank->host);
        rank->start_ns = p->start_ns ? shifted(p->start_ns, rank->clock_ns) : 0;
        rank->failed_ns = p->failed_ns == UINT64_MAX ? UINT64_MAX : rank->start_ns + p->failed_ns;
    }
}

void mpr_ranks_align(struct mpr_ranks *r)
{
    struct clocks c = { .ranks = r, .node = mpr_alloc(r->ranks + 1, sizeof *c.node) };
    struct sights comms = { 0 }, ranges = { 0 };
    for (size_t i = 0; i < r->ranks; i++) {
        node_of(&c, r->rank[i].host);
        if (!r->rank[i].digest->process->start_ns) continue;
        see_comms(&c, &comms, &r->rank[i]);
        see_range(&c, &ranges, &r->rank[i]);
    }
    if (c.nodes) c.node[0].known = true;
    follow(&c, &comms, MPR_CLOCK_BY_COMM);
    follow(&c, &ranges, MPR_CLOCK_BY_RANGE);
    tell(&c);
    set_times(r);
    free(c.node);
}
