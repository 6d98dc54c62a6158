/* The bytes of one GPU by who holds them: now, and at the instant of its peak.
 *
 * The peak is the instant at which most bytes were in use, and of several such instants the one with most bytes in live
 * tensors.  Where the driver was never asked for the used bytes, tracked bytes stand for them. */
#ifndef MPR_DEVICE_H
#define MPR_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "owners.h"
#include "used.h"

/* Memory that no allocation names, by the call that it came with.  Signed sums of measured differences. */
enum mpr_account {
    MPR_ACCOUNT_CONTEXT, MPR_ACCOUNT_MODULES, MPR_ACCOUNT_STACK, MPR_ACCOUNT_STREAMS, MPR_ACCOUNT_GRAPHS, MPR_ACCOUNT_POOLS,
    MPR_ACCOUNT_TOOL, MPR_ACCOUNTS
};

/* Bytes, unless said otherwise. */
struct mpr_shares {
    uint64_t used, total;           /* MPF_UNKNOWN: never measured */
    uint64_t other;                 /* other processes; MPF_UNKNOWN */
    uint64_t tracked;               /* gpuN/device: blocks, physical memory, levels */
    uint64_t owner[MPR_OWNERS];     /* of tracked, by kind of owner: without levels */
    uint64_t pools, graph_memory;   /* levels: stream-ordered pools, memory nodes of graphs */
    uint64_t managed;
    uint64_t torch_live, torch_blocks;      /* live blocks of PyTorch, wherever they lie; their number */
    uint64_t torch_placed;          /* of torch_live: inside PyTorch's segments */
    uint64_t torch_split;           /* free, in segments that hold live blocks */
    uint64_t torch_idle;            /* segments without a live block */
    uint64_t torch_graph;           /* free, in segments that a graph's memory pool holds */
    uint64_t torch_hole;            /* largest contiguous piece of torch_split */
    uint64_t graph_pools, graphs;   /* numbers: memory pools that graphs hold, live executables */
    int64_t account[MPR_ACCOUNTS];
};

struct mpr_peak {
    struct mpr_shares shares;
    uint64_t time, ordinal;         /* ordinal: of the GPU event after which it was so */
    uint64_t epoch;                 /* peaks so far, from 1 */
    bool fresh;                     /* the holes of that instant have not been looked at yet */
    bool pinned;                    /* stays as it is */
};

/* What PyTorch's allocator says it reserved, against the segments that were seen. */
struct mpr_torch_level { uint64_t newest, largest, worst, worst_time; /* difference */ bool known; };

struct mpr_device {
    bool seen;
    uint8_t index;
    struct mpr_shares now;
    struct mpr_used used;
    struct mpr_peak peak;
    struct mpr_torch_level level;
    bool limit_set;                 /* the next first launch grows the stacks */
    uint64_t swept, swept_bytes;    /* blocks that went with their context or their segment */
    uint8_t *description;           /* pairs (mpf/header.h) */
    size_t description_bytes;
};

/* After an event: brings `now` up to date and notes a new peak. */
void mpr_device_update(struct mpr_device *d, uint64_t time, uint64_t ordinal);
/* Makes the present state the peak for good. */
void mpr_device_pin(struct mpr_device *d, uint64_t time, uint64_t ordinal);
/* Free bytes that PyTorch could give back: segments without a block, and physical memory that is not mapped. */
uint64_t mpr_shares_releasable(const struct mpr_shares *s);
/* Used bytes without all that has a name; negative when names cover more than was in use. */
int64_t mpr_shares_unknown(const struct mpr_shares *s);

#endif
