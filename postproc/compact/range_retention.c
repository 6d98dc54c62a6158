#include <stdlib.h>

#include "alloc.h"
#include "thin.h"
#include "threads.h"

enum { SPAN_EVENTS = 5 }; /* PUSH, POP, the TORCH_NODE, and the payloads of PUSH and POP */

struct mpr_span {
    uint64_t event[SPAN_EVENTS];
    uint32_t events, domain, holders;
    uint32_t around; /* the range that contains it, or 0; of a free place: the next free one */
    bool stays;
};

/* The ranges of a thread. */
struct mpr_span_stack {
    uint32_t *open; /* outermost first */
    uint32_t depth, cap;
    uint64_t depth_overflow; /* PUSHes above MPR_STACK_MAX, which stay; counted as in replay */
    uint32_t application;    /* number of open ranges of the default domain */
    uint32_t newest;         /* the last of these that was pushed, or 0; held */
    uint32_t newer, older;   /* thread + 1: neighbours in the list of threads that pushed one */
    bool listed;
    uint32_t latest; /* the range of the newest PUSH or POP, to which a payload belongs; held */
};

static struct mpr_span_stack *stack_of(struct mpr_spans *s, uint32_t thread)
{
    if (thread >= MPR_THREADS_MAX) thread = 0; /* as in replay */
    MPR_REACH(s->of, thread, s->threads);
    return &s->of[thread];
}

/* ---- holders */

static void hold(struct mpr_spans *s, uint32_t span)
{
    if (span) s->span[span].holders++;
}

/* If a range has no holders left, its events are removed unless it stays, and it no longer holds
 * the range around it. */
static void release(struct mpr_spans *s, uint32_t span)
{
    while (span && --s->span[span].holders == 0) {
        struct mpr_span *decided = &s->span[span];
        const uint32_t around = decided->around;
        for (uint32_t i = 0; !decided->stays && i < decided->events; i++)
            s->remove(s->arg, decided->event[i]);
        decided->around = s->free;
        s->free = span;
        span = around;
    }
}

/* Makes a range stay, and the ranges around it. */
static void keep(struct mpr_spans *s, uint32_t span)
{
    for (; span && !s->span[span].stays; span = s->span[span].around) s->span[span].stays = true;
}

/* Replaces the range that *at holds. */
static void replace_held(struct mpr_spans *s, uint32_t *at, uint32_t span)
{
    const uint32_t before = *at;
    hold(s, span);
    *at = span;
    release(s, before);
}

/* ---- threads with ranges of the application, ordered by their last PUSH, newest first */

static struct mpr_span_stack *stack_at(struct mpr_spans *s, uint32_t number)
{
    return number ? &s->of[number - 1] : NULL;
}

static void remove_from_list(struct mpr_spans *s, struct mpr_span_stack *t)
{
    struct mpr_span_stack *newer = stack_at(s, t->newer), *older = stack_at(s, t->older);
    if (!t->listed) return;
    if (newer) newer->older = t->older;
    else s->newest = t->older;
    if (older) older->newer = t->newer;
    t->newer = t->older = 0;
    t->listed = false;
}

static uint32_t innermost_range(const struct mpr_span_stack *t)
{
    return t->depth ? t->open[t->depth - 1] : 0;
}

/* Lists the ranges that an event of the thread happens in.  An event that inherits ranges does so
 * from the thread that pushed a range of the application last and has one open.  The last of these
 * ranges is listed too, because it decides which thread that is. */
static void find_around(struct mpr_spans *s, uint32_t thread, bool inherits,
                        uint32_t span[MPR_SPANS_AROUND])
{
    const struct mpr_span_stack *own = stack_of(s, thread), *source = NULL;
    if (inherits && !own->application) {
        while (s->newest && !stack_at(s, s->newest)->application)
            remove_from_list(s, stack_at(s, s->newest));
        source = stack_at(s, s->newest);
    }
    span[0] = innermost_range(own);
    span[1] = source ? innermost_range(source) : 0;
    span[2] = source ? source->newest : 0;
}

void mpr_spans_hold(struct mpr_spans *s, uint32_t thread, bool inherits,
                    uint32_t held[MPR_SPANS_AROUND])
{
    find_around(s, thread, inherits, held);
    for (int i = 0; i < MPR_SPANS_AROUND; i++) hold(s, held[i]);
}

void mpr_spans_release(struct mpr_spans *s, const uint32_t held[MPR_SPANS_AROUND], bool stays)
{
    for (int i = 0; i < MPR_SPANS_AROUND; i++) {
        if (stays) keep(s, held[i]);
        release(s, held[i]);
    }
}

void mpr_spans_keep(struct mpr_spans *s, uint32_t thread, bool inherits)
{
    uint32_t span[MPR_SPANS_AROUND];
    find_around(s, thread, inherits, span);
    for (int i = 0; i < MPR_SPANS_AROUND; i++) keep(s, span[i]);
}

/* ---- events */

static void add(struct mpr_spans *s, uint32_t number, uint64_t event)
{
    struct mpr_span *span = &s->span[number];
    if (span->events < SPAN_EVENTS) span->event[span->events++] = event;
    else keep(s, number);
}

void mpr_spans_push(struct mpr_spans *s, uint32_t thread, uint64_t event, uint32_t domain,
                    bool stays)
{
    struct mpr_span_stack *t = stack_of(s, thread);
    if (t->depth == MPR_STACK_MAX) {
        t->depth_overflow++;
        return;
    }
    uint32_t span = s->free;
    if (span) s->free = s->span[span].around;
    else {
        s->spans += !s->spans; /* 0 is not used */
        MPR_REACH(s->span, s->spans, s->cap);
        span = s->spans++;
    }
    s->span[span] =
        (struct mpr_span){ .domain = domain, .around = innermost_range(t), .holders = 1 };
    add(s, span, event);
    hold(s, s->span[span].around);
    *MPR_ADD(t->open, t->depth, t->cap) = span;
    replace_held(s, &t->latest, span);
    if (stays) keep(s, span);
    if (domain) return;
    t->application++;
    replace_held(s, &t->newest, span);
    /* The thread becomes the first in the list. */
    const uint32_t number = (uint32_t)(t - s->of) + 1;
    remove_from_list(s, t);
    t->older = s->newest;
    if (s->newest) stack_at(s, s->newest)->newer = number;
    s->newest = number;
    t->listed = true;
}

void mpr_spans_pop(struct mpr_spans *s, uint32_t thread, uint64_t event, uint32_t domain)
{
    struct mpr_span_stack *t = stack_of(s, thread);
    uint32_t at = t->depth;
    if (t->depth_overflow) {
        t->depth_overflow--;
        return;
    }
    while (at && s->span[t->open[at - 1]].domain != domain) at--;
    if (!at) return;
    const uint32_t span = t->open[at - 1];
    add(s, span, event);
    for (; at < t->depth; at++) t->open[at - 1] = t->open[at];
    t->depth--;
    if (!domain) t->application--;
    replace_held(s, &t->latest, span);
    release(s, span);
}

void mpr_spans_add(struct mpr_spans *s, uint32_t thread, uint64_t event)
{
    const uint32_t span = stack_of(s, thread)->latest;
    if (span) add(s, span, event);
}

void mpr_spans_forget_newest(struct mpr_spans *s, uint32_t thread)
{
    replace_held(s, &stack_of(s, thread)->latest, 0);
}

void mpr_spans_end_thread(struct mpr_spans *s, uint32_t thread)
{
    if (thread >= s->threads) return;
    struct mpr_span_stack *t = &s->of[thread];
    while (t->depth) release(s, t->open[--t->depth]);
    t->application = 0;
    t->depth_overflow = 0;
    replace_held(s, &t->newest, 0);
    replace_held(s, &t->latest, 0);
}

void mpr_spans_end(struct mpr_spans *s)
{
    for (uint32_t i = 0; i < s->threads; i++) {
        struct mpr_span_stack *t = &s->of[i];
        for (uint32_t k = 0; k < t->depth; k++) keep(s, t->open[k]);
        if (t->application) keep(s, t->newest);
        mpr_spans_end_thread(s, i);
    }
}

void mpr_spans_free(struct mpr_spans *s)
{
    for (uint32_t i = 0; i < s->threads; i++) free(s->of[i].open);
    free(s->of);
    free(s->span);
}
