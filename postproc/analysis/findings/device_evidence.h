/* Facts about the live blocks of a device, when memory ran out or at its peak, that rules on device
 * memory need.  Private to this layer. */
#ifndef MPR_DEVICE_EVIDENCE_H
#define MPR_DEVICE_EVIDENCE_H

#include <stdint.h>

#include "arena.h"
#include "frame.h"

struct mpr_device_snapshot;
struct mpr_oom;
struct mpr_reader;

/* Blocks with a common origin.  bytes 0: there are none. */
struct mpr_block_group {
    uint64_t bytes, count; /* count: of blocks, or of captures */
    uint64_t threads;      /* number of threads that made the blocks, or 0 */
    uint64_t groups;       /* number of attempts, or 0 */
    uint64_t largest;      /* bytes of the largest block or capture */
    uint64_t time;         /* ns; see the members below */
    struct mpr_path path;  /* the call stack or range that made most of the bytes */
};

struct mpr_device_evidence {
    uint64_t pool_live; /* live bytes in stream-ordered pools */
    /* Blocks of one call stack that have the size of a cuBLAS workspace. */
    struct mpr_block_group workspaces;
    /* Segments that torch.compile captured for one function, in several graphs. */
    struct mpr_block_group captures;
    /* Pools of graphs at the time of the run at which they had most bytes, and the calls that most
     * segments of graphs in the snapshot have in common. */
    struct mpr_block_group graph_pools;
    /* Live blocks that earlier attempts left.  The attempt that left most ran out of memory at
     * `time`.  The calls with which they began were made again. */
    struct mpr_block_group attempt;
};

/* Call it after the last event.  The paths are in the arena.
 * @snapshot: may be invalid.
 * @oom: the failure at the instant of the snapshot, or NULL. */
void mpr_device_evidence_fill(struct mpr_device_evidence *out, struct mpr_arena *arena,
                              const struct mpr_reader *reader,
                              const struct mpr_device_snapshot *snapshot,
                              const struct mpr_oom *oom);

#endif
