#include "follow.h"

#include <string.h>

static void take_out(struct mpr_follow *f, const struct mpr_replay *r, size_t at, bool ended)
{
    const struct mpr_followed gone = f->open[at];
    memmove(&f->open[at], &f->open[at + 1], (--f->count - at) * sizeof *f->open);
    f->ends(f->arg, r, &gone, ended);
}

static void push(struct mpr_follow *f, const struct mpr_replay *r, const struct mpr_thread *t,
                 const struct mpf_event *e)
{
    const uint32_t what = t->beyond ? 0 : f->what(f->arg, r, t->node);
    if (!what) return;
    struct mpr_followed new = { .push = r->count[MPF_OP_PUSH],
                                .begin_ns = e->time,
                                .what = what,
                                .thread = t->number,
                                .node = t->node,
                                .inner = t->node };
    f->begins(f->arg, r, &new);
    if (mpr_follow_is_full(f)) f->left_out++;
    else f->open[f->count++] = new;
}

/* Most often the newest instance ends first. */
static void pop(struct mpr_follow *f, const struct mpr_replay *r, const struct mpr_thread *t)
{
    for (size_t i = f->count; i-- > 0;)
        if (f->open[i].push == t->popped) {
            take_out(f, r, i, true);
            return;
        }
}

static void move_on(struct mpr_follow *f, const struct mpr_thread *t)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->open[i].thread == t->number) f->open[i].inner = t->node;
}

static void end_thread(struct mpr_follow *f, const struct mpr_replay *r, uint64_t thread)
{
    for (size_t i = f->count; i-- > 0;)
        if (f->open[i].thread == thread) take_out(f, r, i, true);
}

void mpr_follow_see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                    const struct mpf_event *e)
{
    struct mpr_follow *f = arg;
    if (e->op != MPF_OP_PUSH && e->op != MPF_OP_POP && e->op != MPF_OP_THREAD_END) return;
    if (f->before) f->before(f->arg, r);
    if (e->op == MPF_OP_PUSH) push(f, r, t, e);
    else if (e->op == MPF_OP_POP && t->popped) pop(f, r, t);
    else if (e->op == MPF_OP_THREAD_END) end_thread(f, r, e->addr);
    move_on(f, t);
}

void mpr_follow_end(struct mpr_follow *f, const struct mpr_replay *r)
{
    if (f->before) f->before(f->arg, r);
    while (f->count) take_out(f, r, f->count - 1, false);
}
