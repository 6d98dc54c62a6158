/* Physical memory with handles (cuMemCreate): references and mappings are counted, and the bytes leave the books with the
 * last of them. */
#ifndef MPR_GPU_HANDLES_H
#define MPR_GPU_HANDLES_H

#include <stdbool.h>
#include <stdint.h>

#include "replay_state.h"

bool mpr_handle_new(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_handle_import(struct mpr_replay *r, const struct mpf_event *e);
/* One more reference; the handle may be a new name of the memory that is mapped at `at`. */
void mpr_handle_retain(struct mpr_replay *r, uint64_t handle, uint64_t at);
void mpr_handle_drop(struct mpr_replay *r, uint64_t handle);
void mpr_handle_map(struct mpr_replay *r, uint64_t handle, uint64_t at, uint64_t bytes);
void mpr_handle_unmap(struct mpr_replay *r, uint64_t at, uint64_t bytes);

#endif
