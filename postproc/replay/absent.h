/* The part of a log that was thinned: blocks of which is known how many there were, and at some
 * instants (FOLDED) how much they held then.  They lie in a cell of each heap. */
#ifndef MPR_ABSENT_H
#define MPR_ABSENT_H

#include <stdbool.h>
#include <stdint.h>

#include "mpf/event.h"
#include "mpf/sample.h"

struct mpr_replay;

/* As the event says it; zeros where it is too short. */
struct mpr_absent {
    uint64_t value[MPF_FOLDED_COUNT];
};
struct mpr_absent mpr_absent_of(const struct mpf_event *e);

/* What a heap has of them now. */
struct mpr_absent_live {
    uint64_t bytes, blocks;
};

void mpr_absent_take(struct mpr_replay *r, const struct mpf_event *e);

#endif
