#include "gpu_path.h"

static uint32_t build_path(struct mpr_replay *r, const struct mpr_thread *carrier,
                           const struct mpr_thread *t)
{
    uint32_t node = 0;
    for (uint32_t i = 0; i < carrier->depth; i++)
        if (!carrier->stack[i].domain)
            node = mpr_ranges_child(&r->ranges, node, carrier->stack[i].name, 0);
    for (uint32_t i = 0; i < t->depth; i++)
        node = mpr_ranges_child(&r->ranges, node, t->stack[i].name, t->stack[i].domain);
    return node;
}

uint32_t mpr_gpu_path(struct mpr_replay *r, struct mpr_thread *t, bool *inherited)
{
    *inherited = false;
    if (t->application || r->options.no_inherit) return t->node;
    /* library domains do not make a thread carry ranges */
    const struct mpr_thread *carrier = mpr_threads_carrier(&r->threads);
    if (!carrier || carrier == t) return t->node;
    *inherited = true;
    if (t->gpu.carried != carrier->node || t->gpu.own != t->node || !t->gpu.path) {
        t->gpu.path = build_path(r, carrier, t);
        t->gpu.carried = carrier->node;
        t->gpu.own = t->node;
    }
    return t->gpu.path;
}
