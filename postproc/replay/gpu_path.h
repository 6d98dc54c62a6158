/* The ranges that a thread's device blocks belong to.  Not in gpu_book.h, for backward.c asks here
 * and gpu_book.c asks backward.c. */
#ifndef MPR_GPU_PATH_H
#define MPR_GPU_PATH_H

#include "replay_state.h"

/* The node of the path; *inherited: by ranges of another thread than t. */
uint32_t mpr_gpu_path(struct mpr_replay *r, struct mpr_thread *t, bool *inherited);

#endif
