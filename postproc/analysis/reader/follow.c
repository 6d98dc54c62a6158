#include "repeats.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"

static void close_instance(struct mpr_follow *f, const struct mpr_replay *r, size_t at, bool ended)
{
    const struct mpr_followed gone = f->open[at];
    memmove(&f->open[at], &f->open[at + 1], (--f->count - at) * sizeof *f->open);
    f->on_end(f->arg, r, &gone, ended);
}

static void on_event(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                     const struct mpf_event *e)
{
    struct mpr_follow *f = arg;
    if (e->op != MPF_OP_PUSH && e->op != MPF_OP_POP && e->op != MPF_OP_THREAD_END) return;
    if (f->before_event) f->before_event(f->arg, r);
    const uint32_t range =
        e->op == MPF_OP_PUSH && !t->depth_overflow ? f->number_of(f->ranges, r, t->node) : 0;
    if (range) {
        struct mpr_followed new = { .push = r->count[MPF_OP_PUSH],
                                    .begin_ns = e->time,
                                    .range = range,
                                    .thread = t->number,
                                    .node = t->node,
                                    .inner = t->node };
        if (f->on_begin) f->on_begin(f->arg, r, &new);
        if (mpr_follow_is_full(f)) f->left_out++;
        else f->open[f->count++] = new;
    }
    /* usually the newest instance ends first */
    for (size_t i = e->op == MPF_OP_POP && t->popped ? f->count : 0; i-- > 0;)
        if (f->open[i].push == t->popped) {
            close_instance(f, r, i, true);
            break;
        }
    for (size_t i = e->op == MPF_OP_THREAD_END ? f->count : 0; i-- > 0;)
        if (f->open[i].thread == e->addr) close_instance(f, r, i, true);
    for (size_t i = 0; i < f->count; i++)
        if (f->open[i].thread == t->number) f->open[i].inner = t->node;
}

void mpr_follow_begin(struct mpr_follow *f, struct mpr_replay *r)
{
    mpr_watch_begin(r, (struct mpr_watch){ on_event, f });
}

void mpr_follow_end(struct mpr_follow *f, const struct mpr_replay *r)
{
    if (f->before_event) f->before_event(f->arg, r);
    while (f->count) close_instance(f, r, f->count - 1, false);
}

/* ---- all open ranges */

static void close_thread(struct mpr_open_ranges *o, uint64_t thread, uint64_t to, bool ended)
{
    if (thread >= o->threads) return;
    struct mpr_open_thread *open = &o->thread[thread];
    while (open->count) o->on_end(o->arg, &open->at[--open->count], to, ended);
}

/* Usually the newest range of a thread ends first. */
void mpr_open_ranges_see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                         const struct mpf_event *e)
{
    struct mpr_open_ranges *o = arg;
    if (e->op == MPF_OP_THREAD_END) close_thread(o, e->addr, e->time, true);
    if (e->op != MPF_OP_PUSH && e->op != MPF_OP_POP) return;
    MPR_REACH(o->thread, t->number, o->threads);
    struct mpr_open_thread *open = &o->thread[t->number];
    if (e->op == MPF_OP_PUSH && !t->depth_overflow) {
        MPR_GROW(open->at, open->count, open->cap);
        open->at[open->count++] =
            (struct mpr_open_instance){ r->count[MPF_OP_PUSH], e->time, t->node, t->number };
    }
    for (uint32_t i = e->op == MPF_OP_POP && t->popped ? open->count : 0; i-- > 0;) {
        if (open->at[i].push != t->popped) continue;
        const struct mpr_open_instance gone = open->at[i];
        memmove(&open->at[i], &open->at[i + 1], (--open->count - i) * sizeof *open->at);
        o->on_end(o->arg, &gone, e->time, true);
        break;
    }
}

void mpr_open_ranges_end(struct mpr_open_ranges *o, const struct mpr_replay *r)
{
    for (uint32_t i = 0; i < o->threads; i++) close_thread(o, i, r->now, false);
}

void mpr_open_ranges_free(struct mpr_open_ranges *o)
{
    for (uint32_t i = 0; i < o->threads; i++) free(o->thread[i].at);
    free(o->thread);
}
