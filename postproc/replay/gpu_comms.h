/* Whose blocks NCCL's are: its ranges name the communicator at work. */
#ifndef MPR_GPU_COMMS_H
#define MPR_GPU_COMMS_H

#include "replay_state.h"

/* A PUSH, POP or RANGE_DATA has been applied. */
void mpr_gpu_range(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* The block's communicator may be told later; object: its number where it has a handle, else 0. */
void mpr_gpu_guess(struct mpr_replay *r, const struct mpr_gpu_block *b, uint32_t object);

#endif
