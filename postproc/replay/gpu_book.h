/* Device blocks in the books: what is known of one when it is made, and the cell that it counts in.
 */
#ifndef MPR_GPU_BOOK_H
#define MPR_GPU_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "mpf/sample.h"
#include "replay_state.h"

/* The i-th u64 of an event's data; MPF_UNKNOWN behind its end. */
static inline uint64_t mpr_gpu_word(const struct mpf_event *e, unsigned i)
{
    uint64_t v = MPF_UNKNOWN;
    if ((i + 1) * sizeof v <= e->size) memcpy(&v, e->data + i * sizeof v, sizeof v);
    return v;
}

/* A block of PyTorch's allocator. */
static inline bool mpr_gpu_of_torch(const struct mpf_event *e)
{
    return mpf_heap_is_gpu(e->heap) && mpf_heap_code(e->heap) == MPF_HEAP_TORCH;
}
/* Everything that is known of a block that the thread makes now. */
struct mpr_gpu_block mpr_gpu_describe(struct mpr_replay *r, struct mpr_thread *t,
                                      const struct mpf_event *e);
/* The key of its cell. */
uint64_t mpr_gpu_key(const struct mpr_replay *r, const struct mpr_gpu_block *b);
/* The number of its cell in the books. */
uint32_t mpr_gpu_cell(struct mpr_replay *r, const struct mpr_gpu_block *b);
/* Puts the block that the event makes into the books and describes it in *out. */
void mpr_gpu_book(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e,
                  struct mpr_gpu_block *out);
/* For who looks on (lives.h): the block has its address, or has it no more. */
void mpr_gpu_seen(struct mpr_replay *r, const struct mpr_gpu_block *b, uint64_t from);
void mpr_gpu_unseen(struct mpr_replay *r, const struct mpr_gpu_block *b);
/* Into the books, with its cell, and out of them. */
void mpr_gpu_books_add(struct mpr_replay *r, struct mpr_gpu_block *b);
void mpr_gpu_books_remove(struct mpr_replay *r, const struct mpr_gpu_block *b);

#endif
