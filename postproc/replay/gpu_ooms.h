/* Lack of device memory: a refusal of the driver is hard until who asked gets what it wanted; PyTorch gives back its cache and
 * asks again, and says itself when it gives up. */
#ifndef MPR_GPU_OOMS_H
#define MPR_GPU_OOMS_H

#include <stdbool.h>
#include <stdint.h>

#include "replay_state.h"

/* GPU_FAIL */
void mpr_oom_driver(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* TORCH_OOM */
void mpr_oom_torch(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
/* The thread has freed a driver block: after a refusal that is PyTorch giving back its cache. */
void mpr_oom_freed(struct mpr_replay *r, const struct mpr_thread *t, uint64_t bytes);
/* The thread has made a block. */
void mpr_oom_got_over(struct mpr_replay *r, struct mpr_thread *t, const struct mpr_gpu_block *b, bool torch);

/* Does this library belong to PyTorch? */
bool mpr_gpu_is_torch(const struct mpr_sites *s, uint32_t library);

#endif
