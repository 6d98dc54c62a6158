/* The chosen instant, options.at: the largest states in it stand for the peaks. */
#ifndef MPR_CHOSEN_H
#define MPR_CHOSEN_H

#include "replay_state.h"

/* Before the first event: what is to be told of time that passes. */
void mpr_clock_begin(struct mpr_replay *r, const struct mpr_clock *clock);
/* Before the first event, to know when mpr_chosen_turn is to be called first. */
void mpr_chosen_init(struct mpr_replay *r);
/* Before an event of that time, which is r->turn or later; UINT64_MAX: after the last event, at
 * which the clock does not tick. */
void mpr_chosen_turn(struct mpr_replay *r, uint64_t time);

#endif
