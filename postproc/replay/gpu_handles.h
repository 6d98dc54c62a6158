/* Physical memory with handles (cuMemCreate): references and mappings are counted, and the bytes leave the books with the
 * last of them.  Also what gpu.c lends for it. */
#ifndef MPR_GPU_HANDLES_H
#define MPR_GPU_HANDLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu.h"

bool mpr_handle_new(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);
void mpr_handle_import(struct mpr_replay *r, const struct mpf_event *e);
/* One more reference; the handle may be a new name of the memory that is mapped at `at`. */
void mpr_handle_retain(struct mpr_replay *r, uint64_t handle, uint64_t at);
void mpr_handle_drop(struct mpr_replay *r, uint64_t handle);
void mpr_handle_map(struct mpr_replay *r, uint64_t handle, uint64_t at, uint64_t bytes);
void mpr_handle_unmap(struct mpr_replay *r, uint64_t at, uint64_t bytes);

/* Room for one more in an array; false without memory. */
bool mpr_gpu_grow(struct mpr_replay *r, void **array, uint32_t count, uint32_t *cap, size_t bytes);
/* Puts the block that the event makes into the books and describes it in *out. */
bool mpr_gpu_book(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e, struct mpr_gpu_block *out);
/* Tracked bytes changed: was it measured already? */
void mpr_gpu_explain(struct mpr_replay *r, unsigned device, int64_t change);
/* For the largest blocks: the block has its address, or has it no more. */
void mpr_gpu_seen(struct mpr_replay *r, const struct mpr_gpu_block *b, uint64_t from);
void mpr_gpu_unseen(struct mpr_replay *r, const struct mpr_gpu_block *b);
void mpr_gpu_books_remove(struct mpr_replay *r, const struct mpr_gpu_block *b);

#endif
