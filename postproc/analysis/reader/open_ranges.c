#include "open_ranges.h"

#include <stdlib.h>

#include "alloc.h"

static uint32_t place_for(struct mpr_open_ranges *o)
{
    if (o->free) {
        const uint32_t place = o->free - 1;
        o->free = o->at[place].older;
        return place;
    }
    MPR_GROW(o->at, o->count, o->cap);
    return o->count++;
}

static void push(struct mpr_open_ranges *o, const struct mpr_replay *r, const struct mpr_thread *t,
                 const struct mpf_event *e)
{
    if (t->beyond) return;
    const uint32_t place = place_for(o);
    MPR_REACH(o->newest, t->number, o->threads);
    const uint32_t older = o->newest[t->number];
    o->at[place] = (struct mpr_open_instance){ .push = r->count[MPF_OP_PUSH],
                                               .from = e->time,
                                               .node = t->node,
                                               .thread = t->number,
                                               .older = older };
    if (older) o->at[older - 1].newer = place + 1;
    o->newest[t->number] = place + 1;
    mpr_index_set(&o->number, o->at[place].push, place + 1);
}

static void take_out(struct mpr_open_ranges *o, uint32_t place, uint64_t to, bool ended)
{
    const struct mpr_open_instance gone = o->at[place];
    if (gone.newer) o->at[gone.newer - 1].older = gone.older;
    else o->newest[gone.thread] = gone.older;
    if (gone.older) o->at[gone.older - 1].newer = gone.newer;
    mpr_index_set(&o->number, gone.push, 0);
    o->at[place] = (struct mpr_open_instance){ .older = o->free };
    o->free = place + 1;
    o->ends(o->arg, &gone, to, ended);
}

static void pop(struct mpr_open_ranges *o, const struct mpr_thread *t, uint64_t time)
{
    const uint32_t number = t->popped ? mpr_index_get(&o->number, t->popped) : 0;
    if (number) take_out(o, number - 1, time, true);
}

static void end_thread(struct mpr_open_ranges *o, uint64_t thread, uint64_t to, bool ended)
{
    if (thread >= o->threads) return;
    while (o->newest[thread]) take_out(o, o->newest[thread] - 1, to, ended);
}

void mpr_open_ranges_see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                         const struct mpf_event *e)
{
    struct mpr_open_ranges *o = arg;
    if (e->op == MPF_OP_PUSH) push(o, r, t, e);
    else if (e->op == MPF_OP_POP) pop(o, t, e->time);
    else if (e->op == MPF_OP_THREAD_END) end_thread(o, e->addr, e->time, true);
}

void mpr_open_ranges_end(struct mpr_open_ranges *o, const struct mpr_replay *r)
{
    for (uint32_t i = 0; i < o->threads; i++) end_thread(o, i, r->now, false);
}

void mpr_open_ranges_free(struct mpr_open_ranges *o)
{
    free(o->at);
    mpr_index_free(&o->number);
    free(o->newest);
}
