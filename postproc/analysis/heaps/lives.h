/* The blocks that PyTorch held at each device's instant, followed until they go.  Private to this
 * layer.
 *
 * The instant is the heap's peak, or the chosen one, as the books have it (books.h).  One reading
 * does: a new peak takes all live blocks, and those that went since the one before are forgotten.
 * So no more is kept than was live twice. */
#ifndef MPR_LIVES_H
#define MPR_LIVES_H

#include "index.h"
#include "mpf/gpu.h"
#include "phases.h"

struct mpr_block_life {
    struct mpr_gpu_block block;
    struct mpr_moment made, gone;
    unsigned under; /* its thread's ranges, as mpr_torch_says */
    bool lives;
    bool captured;             /* made while a graph was captured, and not gone in that capture */
    uint64_t made_before_gone; /* blocks made on its device until it went */
};

/* Zero before the first event. */
struct mpr_lives {
    struct mpr_phases phases;
    struct mpr_block_life *live; /* in no order */
    uint32_t count, cap;
    struct mpr_index number; /* by address: place + 1 */
    struct mpr_lives_device {
        uint64_t epoch;            /* of the heap, at the instant */
        uint64_t births, mappings; /* of blocks, and of memory with handles, up to it */
        struct mpr_moment instant;
        struct mpr_block_life *gone; /* since */
        uint32_t count, cap;
        uint64_t made; /* blocks so far */
    } device[MPF_GPUS];
    unsigned devices;   /* the highest that PyTorch has memory of, + 1 */
    uint64_t contexts;  /* blocks that went with their context, so far */
    bool returns_grads; /* something that a backward pass left went again */
};

/* For mpr_watch; arg is the mpr_lives. */
void mpr_lives_see(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                   const struct mpf_event *e);
/* Returns true if no block was made on the device after this one went: then only the end of the
 * program may have freed it. */
bool mpr_lives_went_last(const struct mpr_lives *lives, const struct mpr_block_life *life);
/* After the last event: those of the device's instant, in the caller's memory (free). */
struct mpr_block_life *mpr_lives_end(struct mpr_lives *lives, const struct mpr_replay *r,
                                     unsigned device, size_t *count);
void mpr_lives_free(struct mpr_lives *lives);

#endif
