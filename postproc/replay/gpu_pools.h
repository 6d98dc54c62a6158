/* Stream-ordered pools and the memory of graphs: how much of a device each holds, by who made it grow. */
#ifndef MPR_GPU_POOLS_H
#define MPR_GPU_POOLS_H

#include "replay_state.h"

/* A GPU_LEVEL: what was added belongs to its thread's ranges and to the call stack of its newest block of a pool; what was
 * given back is the newest. */
void mpr_pool_level(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_pools_free(struct mpr_gpu *g);

#endif
