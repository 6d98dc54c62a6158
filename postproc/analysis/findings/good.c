#include "good.h"

#include <stdlib.h>

#include "alloc.h"
#include "amount.h"

#define BEFORE_NS UINT64_C(1000000000)

void mpr_good_init(struct mpr_good *g) { *g = (struct mpr_good){ .repeats = mpr_repeats_new() }; }

void mpr_good_free(struct mpr_good *g)
{
    mpr_repeats_free(g->repeats);
    free(g->newest);
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
    const struct mpr_good_node *n = &g->node[node];
    if (!n->count || failed_since(&r->gpu, n->begun)) return;
    const uint32_t repeat = mpr_repeats_of(g->repeats, r, node);
    MPR_REACH(g->newest, repeat, g->newests);
    g->newest[repeat] = (struct mpr_good_span){ n->begun, r->now, node, n->count };
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

/* The newest finished instance of the outermost range that is open and has one. */
static struct mpr_good_span span_before(const struct mpr_good *g, const struct mpr_replay *r,
                                        const struct mpr_oom *o)
{
    struct mpr_good_span best = { .to = mpr_less(o->time, BEFORE_NS) };
    for (uint32_t node = o->node; node; node = r->ranges.node[node].parent) {
        const uint32_t repeat = mpr_repeats_of(g->repeats, r, node);
        if (!r->ranges.node[node].domain && repeat < g->newests && g->newest[repeat].to)
            best = g->newest[repeat];
    }
    return best;
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
