/* The ranges of a log that is thinned: each stays if something that stays happened in it, which is
 * known when nothing holds it any more: it is closed, and so is what was opened in it, and each
 * block that was made in it is decided. */
#ifndef MPR_SPANS_H
#define MPR_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MPR_SPAN_EVENTS = 5 }; /* PUSH, POP, what autograd ran, and the payloads of both */

struct mpr_span {
    uint64_t event[MPR_SPAN_EVENTS];
    uint32_t events, domain, around, holders; /* around: the range that it lies in; 0: none */
    bool stays;
};

/* Of one thread. */
struct mpr_span_stack {
    uint32_t *open; /* outermost first */
    uint32_t depth, cap;
    uint64_t beyond; /* PUSHes beyond MPR_STACK_MAX: as in replay they are only counted, and stay */
    uint32_t application;  /* open ones of the default domain */
    uint32_t newest;       /* of these, the one that was pushed last, or 0; held */
    uint32_t newer, older; /* threads + 1: in the list of those that pushed one */
    bool listed;
    uint32_t told; /* the range of its newest PUSH or POP, which a payload belongs to; held */
};

struct mpr_spans {
    struct mpr_span *span; /* from 1 */
    uint32_t spans, cap, free;
    struct mpr_span_stack *of; /* by thread */
    uint32_t threads;
    uint32_t newest; /* thread + 1: the first of the list of those that pushed a range of the
                        application, and of some of these that have none open any more */
    void (*drop)(void *arg, uint64_t event); /* an event of a range that goes */
    void *arg;
};

void mpr_spans_free(struct mpr_spans *s);
/* The ranges of what happens on the thread now: its own innermost one and, where it has none of the
 * application, those that say what it inherits.  0: none.  Each is held until it is released. */
enum { MPR_SPANS_AROUND = 3 };
void mpr_spans_hold(struct mpr_spans *s, uint32_t thread, bool inherits,
                    uint32_t held[MPR_SPANS_AROUND]);
/* Nothing that happened in them is undecided any more for who held them. */
void mpr_spans_release(struct mpr_spans *s, const uint32_t held[MPR_SPANS_AROUND], bool stays);
/* Something that stays happens on the thread. */
void mpr_spans_stay(struct mpr_spans *s, uint32_t thread, bool inherits);

void mpr_spans_push(struct mpr_spans *s, uint32_t thread, uint64_t event, uint32_t domain,
                    bool stays);
void mpr_spans_pop(struct mpr_spans *s, uint32_t thread, uint64_t event, uint32_t domain);
/* Belongs to the thread's newest PUSH (TORCH_NODE), or PUSH or POP (RANGE_DATA). */
void mpr_spans_add(struct mpr_spans *s, uint32_t thread, uint64_t event);
/* What comes belongs to none: to a mark, or to a range of the process. */
void mpr_spans_told_other(struct mpr_spans *s, uint32_t thread);
/* The thread is gone, and what was open on it. */
void mpr_spans_end_thread(struct mpr_spans *s, uint32_t thread);
/* After the last event: what is open stays. */
void mpr_spans_end(struct mpr_spans *s);

#endif
