/* A model of PyTorch's caching allocator for one device: which segments it takes from the driver,
 * and which block it gives to each request.  It has no memory, only addresses.
 *
 * The rules are those of DeviceCachingAllocator in c10/cuda/CUDACachingAllocator.cpp, as of PyTorch
 * 2.6 (commit 001074d2): pools, rounding, best fit, splitting, merging, garbage collection,
 * expandable segments, and the steps before an out-of-memory error.  The choices of the driver are
 * the caller's: the address of each new segment, and the bytes that it has.
 *
 * Not modelled: events of streams (a freed block is reusable at once), memory of other processes,
 * and checkpoints of private pools.
 *
 * Use:
 *
 *     struct mpr_caching_allocator *a = mpr_caching_new(&settings, &driver);
 *     uint32_t block = mpr_caching_alloc(a, &(struct mpr_caching_request){ .bytes = 3 << 20 });
 *     mpr_caching_free(a, block);
 *     mpr_caching_close(a);
 *
 * Sizes are bytes.  Memory grows with live blocks and holes.  Not thread-safe. */
#ifndef MPR_CACHING_ALLOCATOR_H
#define MPR_CACHING_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "caching_settings.h"

enum {
    MPR_CACHING_BLOCK = 512,     /* every size is a multiple of it */
    MPR_CACHING_SMALL = 1 << 20, /* the largest block of a small pool */
    MPR_CACHING_SMALL_SEGMENT = 2 << 20,
    MPR_CACHING_LARGE_SEGMENT = 20 << 20, /* for requests below 10 MiB */
    MPR_CACHING_LARGE_ROUND = 2 << 20     /* larger segments are multiples of it */
};

enum mpr_caching_event {
    MPR_CACHING_TAKES, /* a segment from the driver */
    MPR_CACHING_GIVES, /* the segment back */
    MPR_CACHING_MAPS,  /* a part of an expandable segment */
    MPR_CACHING_UNMAPS
};

/* The driver.  All members may be 0 or NULL. */
struct mpr_caching_driver {
    /* Returns the address of a new segment.  @bytes: address space that it needs; expandable
     * segments need more than the device has.  NULL: addresses ascend from 2^40 on. */
    uint64_t (*place)(void *arg, uint64_t bytes);
    /* Called after each event. */
    void (*changed)(void *arg, enum mpr_caching_event event, uint64_t addr, uint64_t bytes);
    void *arg;
    uint64_t total; /* bytes of the device, for memory_fraction and address space */
};

struct mpr_caching_request {
    uint64_t bytes;
    uint64_t stream;
    uint32_t pool;  /* 0: the default pool; others are private pools, by the caller's number */
    bool capturing; /* a graph is being captured: cached segments are not released for it */
};

struct mpr_caching_totals {
    uint64_t reserved, reserved_peak, allocated, allocated_peak;
    uint64_t segments; /* taken or mapped so far */
    uint64_t retries;  /* requests for which cached segments were released */
    uint64_t steps;    /* holes that were looked at to expand segments: a measure of time */
};

struct mpr_caching_allocator;

struct mpr_caching_allocator *mpr_caching_new(const struct mpr_caching_settings *settings,
                                              const struct mpr_caching_driver *driver);
void mpr_caching_close(struct mpr_caching_allocator *a);

/* Limits the reserved bytes: the driver refuses more.  UINT64_MAX: no limit, the default.  A limit
 * below the reserved bytes takes nothing away. */
void mpr_caching_set_capacity(struct mpr_caching_allocator *a, uint64_t bytes);

/* Returns the number of the block, or 0 if the request runs out of memory.  Numbers of freed blocks
 * are used again. */
uint32_t mpr_caching_alloc(struct mpr_caching_allocator *a,
                           const struct mpr_caching_request *request);
/* Frees a block that mpr_caching_alloc returned. */
void mpr_caching_free(struct mpr_caching_allocator *a, uint32_t block);
/* torch.cuda.empty_cache(). */
void mpr_caching_empty_cache(struct mpr_caching_allocator *a);
/* The last graph of a private pool is gone: its segments may be released when they are empty. */
void mpr_caching_release_pool(struct mpr_caching_allocator *a, uint32_t pool);

uint64_t mpr_caching_address(const struct mpr_caching_allocator *a, uint32_t block);
uint64_t mpr_caching_size(const struct mpr_caching_allocator *a, uint32_t block);
/* Returns the smallest request, in bytes, that would have got the same block as the newest one:
 * less than the block's size if the block is a whole hole, which is not split for a remainder of up
 * to 1 MiB. */
uint64_t mpr_caching_least_request(const struct mpr_caching_allocator *a);
const struct mpr_caching_totals *mpr_caching_totals(const struct mpr_caching_allocator *a);

/* Returns the size of the block for a request: rounded up as the settings say. */
uint64_t mpr_caching_round(const struct mpr_caching_settings *settings, uint64_t bytes);
/* Returns the size of the plain segment that a block of this size needs. */
uint64_t mpr_caching_segment_size(uint64_t bytes);

#endif
