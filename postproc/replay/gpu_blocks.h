/* Live blocks of device memory by address: what the books need, and what a report wants to say of
 * each.
 *
 * In no order: the last one fills the place of one that goes.  Pointers are valid until the next
 * change. */
#ifndef MPR_GPU_BLOCKS_H
#define MPR_GPU_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "amount.h"
#include "index.h"

struct mpr_gpu_block {
    uint64_t addr;
    uint64_t size, time; /* bytes; ns when it was made */
    uint64_t birth;      /* number of blocks made so far, from 1 */
    uint64_t context;    /* the driver's, of the thread that made it; 0: not known */
    uint32_t cell, thread, node;
    uint32_t site, library, python; /* numbers of sites.h; 0: not known */
    uint32_t comm;                  /* communicator, of comms.h; 0: none */
    uint32_t capture;               /* number of the graph capture that it was made in; 0: none */
    uint8_t heap;
    bool inherited;    /* node is another thread's */
    bool comm_guessed; /* comm is the newest one at work, or none */
    bool weighed;    /* of PyTorch: it may stand for others without a Python stack (estimates.h) */
    bool handle;     /* memory with a handle: neighbours may belong together */
    bool segment;    /* PyTorch's caching allocator asked for it, itself or through a plug-in */
    uint64_t asleep; /* of one of PyTorch's in a picture: bytes that have no memory (asleep.h) */
};

/* Of its bytes those that have memory. */
static inline uint64_t mpr_gpu_backed(const struct mpr_gpu_block *b)
{
    return mpr_less(b->size, b->asleep);
}

struct mpr_gpu_blocks {
    struct mpr_gpu_block *at;
    uint32_t live, cap;
    struct mpr_index number; /* by address: place + 1 */
};

void mpr_gpu_blocks_free(struct mpr_gpu_blocks *b);
struct mpr_gpu_block *mpr_gpu_blocks_find(const struct mpr_gpu_blocks *b, uint64_t addr);
/* The address must not be live. */
void mpr_gpu_blocks_put(struct mpr_gpu_blocks *b, const struct mpr_gpu_block *block);
/* Takes the block out into *out; false when there is none. */
bool mpr_gpu_blocks_take(struct mpr_gpu_blocks *b, uint64_t addr, struct mpr_gpu_block *out);

#endif
