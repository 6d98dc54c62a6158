/* Memory that no allocation names: how much more is used after a call than before, less what was tracked meanwhile. */
#ifndef MPR_GPU_HIDDEN_H
#define MPR_GPU_HIDDEN_H

#include "replay_state.h"

void mpr_hidden_enter(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_hidden_return(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* NVML's measurement. */
void mpr_hidden_sample(struct mpr_replay *r, const struct mpf_event *e);

#endif
