#include "spans.h"

#include <stdlib.h>

#include "alloc.h"
#include "threads.h"

static struct mpr_span_stack *stack_of(struct mpr_spans *s, uint32_t thread)
{
    if (thread >= MPR_THREADS_MAX) thread = 0; /* as in replay */
    MPR_REACH(s->of, thread, s->threads);
    return &s->of[thread];
}

/* ---- holding */

static void hold(struct mpr_spans *s, uint32_t span)
{
    if (span) s->span[span].holders++;
}

/* What lies around it is held by it. */
static void release(struct mpr_spans *s, uint32_t span)
{
    while (span && --s->span[span].holders == 0) {
        struct mpr_span *gone = &s->span[span];
        const uint32_t around = gone->around;
        for (uint32_t i = 0; !gone->stays && i < gone->events; i++) s->drop(s->arg, gone->event[i]);
        gone->around = s->free;
        s->free = span;
        span = around;
    }
}

static void stay(struct mpr_spans *s, uint32_t span)
{
    for (; span && !s->span[span].stays; span = s->span[span].around) s->span[span].stays = true;
}

/* *at holds the range in place of the one that it held. */
static void hold_as(struct mpr_spans *s, uint32_t *at, uint32_t span)
{
    const uint32_t before = *at;
    hold(s, span);
    *at = span;
    release(s, before);
}

/* ---- who inherits */

static struct mpr_span_stack *at(struct mpr_spans *s, uint32_t number)
{
    return number ? &s->of[number - 1] : NULL;
}

static void unlist(struct mpr_spans *s, struct mpr_span_stack *t)
{
    struct mpr_span_stack *newer = at(s, t->newer), *older = at(s, t->older);
    if (!t->listed) return;
    if (newer) newer->older = t->older;
    else s->newest = t->older;
    if (older) older->newer = t->newer;
    t->newer = t->older = 0;
    t->listed = false;
}

/* It has pushed one: it comes first. */
static void list(struct mpr_spans *s, struct mpr_span_stack *t)
{
    const uint32_t number = (uint32_t)(t - s->of) + 1;
    unlist(s, t);
    t->older = s->newest;
    if (s->newest) at(s, s->newest)->newer = number;
    s->newest = number;
    t->listed = true;
}

/* Of those with open ranges of the application the one that pushed one last; NULL: none has. */
static struct mpr_span_stack *carrier(struct mpr_spans *s)
{
    while (s->newest && !at(s, s->newest)->application) unlist(s, at(s, s->newest));
    return at(s, s->newest);
}

static uint32_t innermost(const struct mpr_span_stack *t)
{
    return t->depth ? t->open[t->depth - 1] : 0;
}

static void around(struct mpr_spans *s, uint32_t thread, bool inherits,
                   uint32_t span[MPR_SPANS_AROUND])
{
    const struct mpr_span_stack *own = stack_of(s, thread),
                                *from = inherits && !own->application ? carrier(s) : NULL;
    span[0] = innermost(own);
    span[1] = from ? innermost(from) : 0;
    span[2] = from ? from->newest : 0; /* says that it is the carrier */
}

void mpr_spans_hold(struct mpr_spans *s, uint32_t thread, bool inherits,
                    uint32_t held[MPR_SPANS_AROUND])
{
    around(s, thread, inherits, held);
    for (int i = 0; i < MPR_SPANS_AROUND; i++) hold(s, held[i]);
}

void mpr_spans_release(struct mpr_spans *s, const uint32_t held[MPR_SPANS_AROUND], bool stays)
{
    for (int i = 0; i < MPR_SPANS_AROUND; i++) {
        if (stays) stay(s, held[i]);
        release(s, held[i]);
    }
}

void mpr_spans_stay(struct mpr_spans *s, uint32_t thread, bool inherits)
{
    uint32_t span[MPR_SPANS_AROUND];
    around(s, thread, inherits, span);
    for (int i = 0; i < MPR_SPANS_AROUND; i++) stay(s, span[i]);
}

/* ---- ranges come and go */

static uint32_t new_span(struct mpr_spans *s)
{
    const uint32_t span = s->free;
    if (span) {
        s->free = s->span[span].around;
        return span;
    }
    s->spans += !s->spans; /* 0 is none */
    MPR_REACH(s->span, s->spans, s->cap);
    return s->spans++;
}

static void add(struct mpr_spans *s, uint32_t number, uint64_t event)
{
    struct mpr_span *span = &s->span[number];
    if (span->events < MPR_SPAN_EVENTS) span->event[span->events++] = event;
    else stay(s, number);
}

void mpr_spans_push(struct mpr_spans *s, uint32_t thread, uint64_t event, uint32_t domain,
                    bool stays)
{
    struct mpr_span_stack *t = stack_of(s, thread);
    if (t->depth == MPR_STACK_MAX) {
        t->beyond++;
        return;
    }
    const uint32_t span = new_span(s);
    s->span[span] = (struct mpr_span){ .domain = domain, .around = innermost(t), .holders = 1 };
    add(s, span, event);
    hold(s, s->span[span].around);
    MPR_GROW(t->open, t->depth, t->cap);
    t->open[t->depth++] = span;
    hold_as(s, &t->told, span);
    if (stays) stay(s, span);
    if (domain) return;
    t->application++;
    hold_as(s, &t->newest, span);
    list(s, t);
}

void mpr_spans_pop(struct mpr_spans *s, uint32_t thread, uint64_t event, uint32_t domain)
{
    struct mpr_span_stack *t = stack_of(s, thread);
    uint32_t at = t->depth;
    if (t->beyond) {
        t->beyond--;
        return;
    }
    while (at && s->span[t->open[at - 1]].domain != domain) at--;
    if (!at) return;
    const uint32_t span = t->open[at - 1];
    add(s, span, event);
    for (; at < t->depth; at++) t->open[at - 1] = t->open[at];
    t->depth--;
    if (!domain) t->application--;
    hold_as(s, &t->told, span);
    release(s, span);
}

void mpr_spans_add(struct mpr_spans *s, uint32_t thread, uint64_t event)
{
    const uint32_t span = stack_of(s, thread)->told;
    if (span) add(s, span, event);
}

void mpr_spans_told_other(struct mpr_spans *s, uint32_t thread)
{
    hold_as(s, &stack_of(s, thread)->told, 0);
}

void mpr_spans_end_thread(struct mpr_spans *s, uint32_t thread)
{
    if (thread >= s->threads) return;
    struct mpr_span_stack *t = &s->of[thread];
    while (t->depth) release(s, t->open[--t->depth]);
    t->application = 0;
    t->beyond = 0;
    hold_as(s, &t->newest, 0);
    hold_as(s, &t->told, 0);
}

void mpr_spans_end(struct mpr_spans *s)
{
    for (uint32_t i = 0; i < s->threads; i++) {
        struct mpr_span_stack *t = &s->of[i];
        for (uint32_t k = 0; k < t->depth; k++) stay(s, t->open[k]);
        if (t->application) stay(s, t->newest);
        mpr_spans_end_thread(s, i);
    }
}

void mpr_spans_free(struct mpr_spans *s)
{
    for (uint32_t i = 0; i < s->threads; i++) free(s->of[i].open);
    free(s->of);
    free(s->span);
}
