/* For each lack of device memory, the span of time in which the program last did well: the newest
 * finished instance of the outermost range that is open at the failure and has one; otherwise
 * everything up to a second before.  Instances in which a request failed for good are no good ones;
 * those that only count on ("step 11", "step 12") are of one range (repeats.h). Private to this
 * layer. */
#ifndef MPR_GOOD_H
#define MPR_GOOD_H

#include "repeats.h"

/* to 0: none; instance 0: no range's */
struct mpr_good_span {
    uint64_t from, to;
    uint32_t node;
    uint64_t instance;
};

struct mpr_good {
    struct mpr_repeats *repeats;  /* for names */
    struct mpr_good_span *newest; /* by repeated range: its newest good instance */
    /* By range node: its newest instance, and its number */
    struct mpr_good_node {
        uint64_t count, begun;
    } * node;
    uint32_t *open;             /* by thread: its node after its newest push or pop */
    struct mpr_good_span *span; /* by failure */
    uint32_t newests, nodes, threads, spans, span_cap;
};

void mpr_good_init(struct mpr_good *g);
/* For mpr_watch; arg is the mpr_good. */
void mpr_good_see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                  const struct mpf_event *e);
void mpr_good_free(struct mpr_good *g);

#endif
