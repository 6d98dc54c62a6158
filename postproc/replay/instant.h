/* The chosen instant, options.at to options.until: the largest states in it stand for the peaks. */
#ifndef MPR_INSTANT_H
#define MPR_INSTANT_H

#include "replay_state.h"

/* Before the first event, to know when mpr_instant_turn is to be called first. */
void mpr_instant_init(struct mpr_replay *r);
/* Before an event of that time, which is r->turn or later; UINT64_MAX: after the last event. */
void mpr_instant_turn(struct mpr_replay *r, uint64_t time);

#endif
