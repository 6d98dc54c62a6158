#include "good.h"

#include <ctype.h>
#include <stdlib.h>

#include "alloc.h"
#include "amount.h"

#define BEFORE_NS UINT64_C(1000000000)

void mpr_good_free(struct mpr_good *g)
{
    free(g->node);
    free(g->open);
    free(g->span);
}

/* ---- instances */

/* Has a request failed for good since then? */
static bool failed_since(const struct mpr_gpu *g, uint64_t time)
{
    for (uint32_t i = g->ooms; i-- > 0 && g->oom[i].time >= time;)
        if (g->oom[i].hard) return true;
    return false;
}

static void end_instance(struct mpr_good *g, const struct mpr_replay *r, uint32_t node)
{
    while (node && r->ranges.node[node].domain) node = r->ranges.node[node].parent;
    if (!node || node >= g->nodes) return;
    struct mpr_good_node *n = &g->node[node];
    if (!n->count || failed_since(&r->gpu, n->begun)) return;
    n->from = n->begun;
    n->to = r->now;
    n->instance = n->count;
}

static void on_range(struct mpr_good *g, const struct mpr_replay *r, const struct mpr_thread *t,
                     const struct mpf_event *e)
{
    const bool application = !(e->addr >> 32);
    MPR_REACH(g->open, t->number, g->threads);
    MPR_REACH(g->node, r->ranges.nodes - 1, g->nodes);
    if (application && e->op == MPF_OP_POP) end_instance(g, r, g->open[t->number]);
    else if (application) {
        g->node[t->node].count++;
        g->node[t->node].begun = e->time;
    }
    g->open[t->number] = t->node;
}

/* ---- failures */

/* Equal but for digits. */
static bool alike_texts(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (isdigit((unsigned char)*a)) a++;
        while (isdigit((unsigned char)*b)) b++;
        if (*a != *b || !*a) return *a == *b;
    }
}

static bool alike(const struct mpr_ranges *r, uint32_t a, uint32_t b)
{
    size_t bytes;
    for (; a != b; a = r->node[a].parent, b = r->node[b].parent) {
        const struct mpr_node *m = &r->node[a], *n = &r->node[b];
        if (m->depth != n->depth || m->domain != n->domain) return false;
        if (m->name == n->name) continue;
        const char *s = mpr_texts_get(&r->names, m->name, &bytes),
                   *t = mpr_texts_get(&r->names, n->name, &bytes);
        if (!s || !t || !alike_texts(s, t)) return false;
    }
    return true;
}

/* The newest finished instance of the range or one like it; 0: none. */
static uint32_t finished(const struct mpr_good *g, const struct mpr_ranges *r, uint32_t node)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < r->nodes && i < g->nodes; i++)
        if (g->node[i].to > g->node[best].to && alike(r, i, node)) best = i;
    return best;
}

static struct mpr_good_span span_before(const struct mpr_good *g, const struct mpr_replay *r,
                                        const struct mpr_oom *o)
{
    uint32_t best = 0;
    for (uint32_t node = o->node; node && g->nodes; node = r->ranges.node[node].parent) {
        const uint32_t found = r->ranges.node[node].domain ? 0 : finished(g, &r->ranges, node);
        if (found) best = found;
    }
    if (!best) return (struct mpr_good_span){ .to = mpr_less(o->time, BEFORE_NS) };
    const struct mpr_good_node *n = &g->node[best];
    return (struct mpr_good_span){ n->from, n->to, best, n->instance };
}

static void on_failure(struct mpr_good *g, const struct mpr_replay *r)
{
    for (; g->spans < r->gpu.ooms; g->spans++) {
        const struct mpr_oom *oom = &r->gpu.oom[g->spans];
        MPR_GROW(g->span, g->spans, g->span_cap);
        g->span[g->spans] = oom->picture.valid ? span_before(g, r, oom)
                                               : (struct mpr_good_span){ 0 }; /* nothing could be
                                                                                 compared */
    }
}

void mpr_good_see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                  const struct mpf_event *e)
{
    struct mpr_good *g = arg;
    if (e->op == MPF_OP_PUSH || e->op == MPF_OP_POP) on_range(g, r, t, e);
    else if (r->gpu.ooms > g->spans) on_failure(g, r);
}
