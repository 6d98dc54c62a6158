#include "phases.h"

#include <stdlib.h>

#include "alloc.h"
#include "gpu_book.h"

static struct mpr_phase_thread *thread_of(struct mpr_phases *p, const struct mpr_thread *t)
{
    MPR_REACH(p->thread, t->number, p->threads);
    return &p->thread[t->number];
}

static void enter(struct mpr_phases *p, enum mpr_phase phase)
{
    if (phase == p->now.phase) return;
    if (phase == MPR_PHASE_FORWARD || phase == MPR_PHASE_OPTIMIZER) p->worked = true;
    if (phase == MPR_PHASE_BACKWARD && (p->worked || !p->now.passes)) {
        p->now.passes++;
        p->worked = false;
    }
    p->now.phase = phase;
    p->now.serial++;
}

/* ---- what a thread is at */

static bool in_backward(struct mpr_phases *p, const struct mpr_replay *r,
                        const struct mpr_thread *t)
{
    return thread_of(p, t)->autograds ||
           mpr_torch_says(&p->names, &r->ranges, t->node) & MPR_SAYS_BACKWARD;
}

/* Where neither autograd nor an optimizer is at work. */
static enum mpr_phase of_program(const struct mpr_phases *p)
{
    const bool over = p->now.phase == MPR_PHASE_BACKWARD || p->now.phase == MPR_PHASE_OPTIMIZER;
    return over ? MPR_PHASE_BETWEEN : p->now.phase;
}

static enum mpr_phase phase_of(struct mpr_phases *p, const struct mpr_replay *r,
                               const struct mpr_thread *t)
{
    if (in_backward(p, r, t)) return MPR_PHASE_BACKWARD;
    if (thread_of(p, t)->stepping && !(p->closure && p->now.phase == MPR_PHASE_FORWARD))
        return MPR_PHASE_OPTIMIZER;
    return of_program(p);
}

/* ---- events */

static void on_push(struct mpr_phases *p, const struct mpr_replay *r, const struct mpr_thread *t,
                    const struct mpf_event *e)
{
    struct mpr_phase_thread *thread = thread_of(p, t);
    if (!(e->addr >> 32)) return; /* the program's own range */
    const unsigned says = mpr_torch_says(&p->names, &r->ranges, t->node);
    if (says & MPR_SAYS_BACKWARD) {
        thread->autograds |= !thread->seen;
        enter(p, MPR_PHASE_BACKWARD);
    } else if (says & MPR_SAYS_OPTIMIZER && !thread->stepping) {
        thread->stepping = true;
        p->closure = false;
        enter(p, MPR_PHASE_OPTIMIZER);
    }
    thread->seen = true;
}

static void on_pop(struct mpr_phases *p, const struct mpr_replay *r, const struct mpr_thread *t)
{
    struct mpr_phase_thread *thread = thread_of(p, t);
    if (!thread->stepping || mpr_torch_says(&p->names, &r->ranges, t->node) & MPR_SAYS_OPTIMIZER)
        return;
    thread->stepping = false;
    p->now.steps++;
    enter(p, MPR_PHASE_BETWEEN);
}

/* The thread has made nodes of autograd: a forward pass, unless they are known from the backward
 * pass that ran them. */
static void on_number(struct mpr_phases *p, const struct mpr_replay *r, const struct mpr_thread *t,
                      const struct mpf_event *e)
{
    if (p->now.phase == MPR_PHASE_SETUP || e->addr <= p->ran + 1 || in_backward(p, r, t)) return;
    p->closure = thread_of(p, t)->stepping;
    enter(p, MPR_PHASE_FORWARD);
}

static void on_block(struct mpr_phases *p, const struct mpr_replay *r, const struct mpr_thread *t,
                     const struct mpf_event *e)
{
    const struct mpr_gpu_block *b = mpr_gpu_blocks_find(&r->gpu.torch, e->addr);
    enum mpr_phase phase = phase_of(p, r, t);
    if (b && phase != MPR_PHASE_BACKWARD &&
        mpr_torch_says(&p->names, &r->ranges, b->python) & MPR_SAYS_FORWARD) {
        p->closure = thread_of(p, t)->stepping;
        phase = MPR_PHASE_FORWARD;
    }
    thread_of(p, t)->seen = true;
    enter(p, phase);
}

void mpr_phases_see(struct mpr_phases *p, const struct mpr_replay *r, const struct mpr_thread *t,
                    const struct mpf_event *e)
{
    p->now.time = e->time;
    switch (e->op) {
    case MPF_OP_PUSH: on_push(p, r, t, e); break;
    case MPF_OP_POP: on_pop(p, r, t); break;
    case MPF_OP_TORCH_NEXT: on_number(p, r, t, e); break;
    case MPF_OP_TORCH_NODE:
        if (e->addr > p->ran) p->ran = e->addr;
        break;
    case MPF_OP_ALLOC:
        if (mpr_gpu_of_torch(e)) on_block(p, r, t, e);
        break;
    default: break;
    }
}

struct mpr_moment mpr_phases_of(struct mpr_phases *p, const struct mpr_replay *r,
                                const struct mpr_thread *t)
{
    struct mpr_moment moment = p->now;
    moment.phase = phase_of(p, r, t);
    if (moment.phase != p->now.phase) moment.serial = UINT32_MAX; /* the next one, not begun yet */
    return moment;
}

void mpr_phases_free(struct mpr_phases *p)
{
    mpr_torch_names_free(&p->names);
    free(p->thread);
}
