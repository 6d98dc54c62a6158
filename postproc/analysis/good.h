/* For each lack of device memory, the span of time in which the program last did well: the newest
 * finished instance of the outermost range that is open at the failure and has one; otherwise
 * everything up to a second before.  Instances in which a request failed for good are no good ones;
 * names that differ in their digits only ("step 11", "step 12") are one range. Private to this
 * layer. */
#ifndef MPR_GOOD_H
#define MPR_GOOD_H

#include "replay.h"

/* to 0: none; instance 0: no range's */
struct mpr_good_span {
    uint64_t from, to;
    uint32_t node;
    uint64_t instance;
};

struct mpr_good {
    /* By range node; to 0: none finished */
    struct mpr_good_node {
        uint64_t count, begun, from, to, instance;
    } * node;
    uint32_t *open;             /* by thread: its node after its newest push or pop */
    struct mpr_good_span *span; /* by failure */
    uint32_t nodes, threads, spans, span_cap;
};

/* For mpr_watch; arg is the mpr_good, zero before the first event. */
void mpr_good_see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                  const struct mpf_event *e);
void mpr_good_free(struct mpr_good *g);

#endif
