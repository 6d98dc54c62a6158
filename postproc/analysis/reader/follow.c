#include "follow.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

static void take_out(struct mpr_follow *f, const struct mpr_replay *r, size_t at, bool ended)
{
    const struct mpr_followed gone = f->open[at];
    memmove(&f->open[at], &f->open[at + 1], (--f->count - at) * sizeof *f->open);
    f->ends(f->arg, r, &gone, ended);
}

static void see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                const struct mpf_event *e)
{
    struct mpr_follow *f = arg;
    if (e->op != MPF_OP_PUSH && e->op != MPF_OP_POP && e->op != MPF_OP_THREAD_END) return;
    if (f->before) f->before(f->arg, r);
    const uint32_t what =
        e->op == MPF_OP_PUSH && !t->depth_overflow ? f->what(f->ranges, r, t->node) : 0;
    if (what) {
        struct mpr_followed new = { .push = r->count[MPF_OP_PUSH],
                                    .begin_ns = e->time,
                                    .what = what,
                                    .thread = t->number,
                                    .node = t->node,
                                    .inner = t->node };
        if (f->begins) f->begins(f->arg, r, &new);
        if (mpr_follow_is_full(f)) f->left_out++;
        else f->open[f->count++] = new;
    }
    /* most often the newest instance ends first */
    for (size_t i = e->op == MPF_OP_POP && t->popped ? f->count : 0; i-- > 0;)
        if (f->open[i].push == t->popped) {
            take_out(f, r, i, true);
            break;
        }
    for (size_t i = e->op == MPF_OP_THREAD_END ? f->count : 0; i-- > 0;)
        if (f->open[i].thread == e->addr) take_out(f, r, i, true);
    for (size_t i = 0; i < f->count; i++)
        if (f->open[i].thread == t->number) f->open[i].inner = t->node;
}

void mpr_follow_begin(struct mpr_follow *f, struct mpr_replay *r)
{
    mpr_watch_begin(r, (struct mpr_watch){ see, f });
}

void mpr_follow_end(struct mpr_follow *f, const struct mpr_replay *r)
{
    if (f->before) f->before(f->arg, r);
    while (f->count) take_out(f, r, f->count - 1, false);
}

/* ---- all open ranges */

static void open_instance(struct mpr_open_ranges *o, const struct mpr_replay *r,
                          const struct mpr_thread *t, const struct mpf_event *e)
{
    if (t->depth_overflow) return;
    uint32_t place = o->free - 1;
    if (o->free) {
        o->free = o->at[place].older;
    } else {
        MPR_GROW(o->at, o->count, o->cap);
        place = o->count++;
    }
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

static void close_instance(struct mpr_open_ranges *o, uint32_t place, uint64_t to, bool ended)
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

static void close_thread(struct mpr_open_ranges *o, uint64_t thread, uint64_t to, bool ended)
{
    if (thread >= o->threads) return;
    while (o->newest[thread]) close_instance(o, o->newest[thread] - 1, to, ended);
}

void mpr_open_ranges_see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                         const struct mpf_event *e)
{
    struct mpr_open_ranges *o = arg;
    if (e->op == MPF_OP_PUSH) open_instance(o, r, t, e);
    else if (e->op == MPF_OP_THREAD_END) close_thread(o, e->addr, e->time, true);
    else if (e->op == MPF_OP_POP) {
        const uint32_t number = t->popped ? mpr_index_get(&o->number, t->popped) : 0;
        if (number) close_instance(o, number - 1, e->time, true);
    }
}

void mpr_open_ranges_end(struct mpr_open_ranges *o, const struct mpr_replay *r)
{
    for (uint32_t i = 0; i < o->threads; i++) close_thread(o, i, r->now, false);
}

void mpr_open_ranges_free(struct mpr_open_ranges *o)
{
    free(o->at);
    mpr_index_free(&o->number);
    free(o->newest);
}
