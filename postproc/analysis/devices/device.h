/* A GPU: what its bytes were at its peak, or at a failure.  Part of the results of peaks and oom.
 */
#ifndef MPR_DEVICE_H
#define MPR_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "row.h"

/* The uses of a device's bytes, in the order of the account.  X(NAME, "key", "name for people") */
#define MPR_USES_OF_DEVICE(X)                                                                      \
    X(TORCH_LIVE, "torch_live", "torch live")                                                      \
    X(TORCH_SPLIT_FREE, "torch_split_free", "torch split free, pending")                           \
    X(TORCH_RELEASABLE, "torch_releasable", "torch releasable")                                    \
    X(TORCH_GRAPH_POOLS, "torch_graph_pools", "torch graph pools, free")                           \
    X(NCCL, "nccl", "NCCL")                                                                        \
    X(XLA, "xla", "XLA's pool")                                                                    \
    X(CUPY, "cupy", "CuPy's pool")                                                                 \
    X(OTHER_LIBRARIES, "other_libraries", "other driver allocations")                              \
    X(POOLS, "pools", "stream-ordered pools")                                                      \
    X(GRAPH_MEMORY, "graph_memory", "graph memory nodes")                                          \
    X(GRAPHS, "graphs", "graph executables")                                                       \
    X(CONTEXT, "context", "context, CUPTI")                                                        \
    X(MODULES, "modules", "modules")                                                               \
    X(LOCAL_MEMORY, "local_memory", "local memory of kernels")                                     \
    X(STREAMS, "streams", "streams")                                                               \
    X(POOL_OVERHEAD, "pool_overhead", "pools, overhead")                                           \
    X(FILE_CACHE, "file_cache", "file cache of the host")                                          \
    X(OTHER_PROCESSES, "other_processes", "other processes, driver")                               \
    X(UNKNOWN, "unknown", "unknown")
enum mpr_use {
#define X(name, ...) MPR_USE_##name,
    MPR_USES_OF_DEVICE(X)
#undef X
        MPR_USES
};

/* One line of the account.  bytes may be negative if it is the rest of a sum. */
struct mpr_device_part {
    enum mpr_use use; /* MPR_USES: a sum of several */
    const char *key, *name, *note;
    int64_t bytes;
};

/* UINT64_MAX: not known */
struct mpr_comm_row {
    const char *name, *first_use;
    uint64_t id, ranks, rank, bytes, blocks;
    uint64_t time; /* ns, first seen */
};

struct mpr_device_state {
    bool valid;
    uint64_t time;                      /* ns */
    uint64_t used, total, tracked;      /* bytes; MPF_UNKNOWN where nobody measured */
    const struct mpr_device_part *part; /* their sum is used */
    size_t parts;
    uint64_t torch_live;   /* of PyTorch's live blocks what has memory, and */
    uint64_t torch_asleep; /* what has none: its segments were unmapped below it */
    uint64_t torch_blocks, torch_segments, largest_hole; /* segments: bytes that PyTorch's allocator
                                                            holds */
    uint64_t split_free, releasable, pool_free;
    const struct mpr_row *row; /* of torch_live, by what was asked for, largest first */
    size_t rows;
    const struct mpr_row *asleep; /* the same of what is asleep */
    size_t asleeps;
    const struct mpr_comm_row *comm; /* NCCL's communicators, largest first */
    size_t comms;
    bool xla_arena; /* XLA took all that it has at once: its buffers are not seen */
};

struct mpr_device {
    unsigned index;
    const char *name, *uuid, *off; /* off: why driver allocations are missing; "": they are not */
    const char *used_off; /* why used bytes were read beside driver calls only; "": they were
                             sampled */
    const char *by_name;  /* why calls were heard of by their names; "": by CUPTI */
    bool shared;          /* its memory is the host's */
    uint64_t torch_reserved_peak; /* PyTorch's own total at its most; 0: it said nothing */
    uint64_t context_blocks;      /* blocks that went with their context */
    struct mpr_device_state peak;
};

/* Returns the bytes of one use, or 0 if the account does not have it. */
int64_t mpr_device_bytes(const struct mpr_device_state *state, enum mpr_use use);

#endif
