#include "repeats.h"

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

static void close_thread(struct mpr_open_ranges *o, uint64_t thread, uint64_t to, bool ended)
{
    if (thread >= o->threads) return;
    struct mpr_open_thread *open = &o->thread[thread];
    while (open->count) o->ends(o->arg, &open->at[--open->count], to, ended);
}

/* Most often the newest range of a thread ends first. */
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
        o->ends(o->arg, &gone, e->time, true);
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
