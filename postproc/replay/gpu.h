/* Events of device memory, and of what belongs to it. */
#ifndef MPR_GPU_H
#define MPR_GPU_H

#include "replay_state.h"

void mpr_gpu_init(struct mpr_gpu *g);
void mpr_gpu_free(struct mpr_gpu *g);
/* Every event of a heap from MPF_HEAP_PINNED on, and every operation from 48 on. */
void mpr_gpu_event(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);

#endif
