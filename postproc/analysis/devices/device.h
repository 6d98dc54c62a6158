/* The account of a GPU: how its bytes are used at its peak, at a failure, or over time.
 *
 * Part of the results of peaks, oom, top and timeline, and allocated in their arenas. Unknown
 * bytes are UINT64_MAX (MPF_UNKNOWN); times are ns since the process's start. */
#ifndef MPR_DEVICE_H
#define MPR_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "row.h"

struct mpr_gpu_block;
struct mpr_device_snapshot;
struct mpr_process_info;
struct mpr_reader;
struct mpr_replay;
struct mpr_segments_series;

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
    X(RECORDED_PROCESSES, "recorded_processes", "other recorded processes")                        \
    X(OTHER_PROCESSES, "other_processes", "other processes, driver")                               \
    X(UNKNOWN, "unknown", "unknown")
enum mpr_use {
#define X(name, ...) MPR_USE_##name,
    MPR_USES_OF_DEVICE(X)
#undef X
        MPR_USES
};

/* One line of the account. The bytes of the remainder may be negative. */
struct mpr_device_part {
    enum mpr_use use; /* MPR_USES: the sum of several uses */
    const char *key, *name, *note;
    int64_t bytes;
};

/* The memory that another process with a log holds of the device at the same instant, in bytes. */
struct mpr_device_share {
    const struct mpr_process_info *process;
    uint64_t bytes;
    uint64_t blocks; /* driver allocations and pools; further bytes are contexts, modules and the
                        like */
    uint64_t torch;  /* PyTorch's live blocks, a part of the allocations */
};

/* A communicator of NCCL. Unknown numbers are UINT64_MAX. */
struct mpr_comm_row {
    const char *name, *first_use;
    uint64_t ranks, rank, bytes, blocks;
    uint64_t time;    /* ns, when it was first seen */
    bool id_by_order; /* NCCL did not report its id at its creation: it is the first new id after
                         that */
};

/* A device at one instant. */
struct mpr_device_state {
    bool valid;
    uint64_t time;
    uint64_t used, total, tracked;
    struct mpr_device_part *part; /* their sum is `used` */
    size_t parts;
    uint64_t torch_live;     /* bytes of PyTorch's live blocks with memory */
    uint64_t torch_asleep;   /* bytes of live blocks without memory, whose segments were unmapped
                                (sleep mode) */
    uint64_t torch_segments; /* bytes of the segments of PyTorch's allocator */
    uint64_t largest_hole, split_free, releasable, pool_free;
    const struct mpr_row *row; /* owners of torch_live, largest first */
    size_t rows;
    const struct mpr_row *asleep; /* owners of torch_asleep */
    size_t asleeps;
    const struct mpr_comm_row *comm; /* largest first */
    size_t comms;
    bool xla_arena; /* XLA allocated its pool as one block, so its buffers are not recorded */
    struct mpr_device_share *share; /* of other recorded processes (sharing.h), largest first */
    size_t shares;
};

struct mpr_device {
    unsigned index;
    const char *name, *uuid;
    const char *off;      /* why driver allocations are missing, or "" if they are recorded */
    const char *used_off; /* why used bytes were read only at driver calls, or "" if they were
                             sampled */
    const char *by_name;  /* why calls were intercepted by name, or "" if CUPTI reported them */
    bool shared;          /* its memory is the host's */
    uint64_t torch_reserved_peak; /* the peak of PyTorch's own total, or 0 if unknown */
    struct mpr_device_state peak;
};

/* Returns a line of the account, without a note. */
struct mpr_device_part mpr_device_part_of(enum mpr_use use, int64_t bytes);
/* Returns the bytes of one use, or 0 if the account has no such line. */
int64_t mpr_device_bytes(const struct mpr_device_state *state, enum mpr_use use);

/* ---- for analyses */

/* Fills the account and the sums of the segments from a snapshot. */
void mpr_device_fill_account(struct mpr_device_state *out, struct mpr_arena *arena,
                             const struct mpr_reader *reader, const struct mpr_device_snapshot *p);
/* The same, and the owners of PyTorch's blocks and the communicators. */
void mpr_device_fill_state(struct mpr_device_state *out, struct mpr_arena *arena,
                           const struct mpr_reader *reader, const struct mpr_device_snapshot *p);
/* Returns rows by the replay's grouping, largest first, for blocks of PyTorch or of the driver.
 * @bytes: returns how many bytes of a block count. */
const struct mpr_row *mpr_device_block_rows(struct mpr_arena *arena,
                                            const struct mpr_reader *reader,
                                            const struct mpr_gpu_block *block, size_t blocks,
                                            uint64_t (*bytes)(const struct mpr_gpu_block *),
                                            size_t *rows);
/* Returns a device without its account. */
struct mpr_device mpr_device_named(struct mpr_arena *arena, const struct mpr_replay *r,
                                   unsigned index);
/* Returns the devices that the process used, by index, each with its account at its peak. */
struct mpr_device *mpr_devices_fill(struct mpr_arena *arena, const struct mpr_reader *reader,
                                    size_t *devices);

/* ---- over time */

/* The account is known only at instants that are spread over the run, at the peak and at
 * out-of-memory events. viewer/columns.mjs reads this list. */
#define MPR_ACCOUNT_KINDS(X) X(SPREAD, "spread") X(PEAK, "peak") X(OOM, "oom")
#define X(name, text)        MPR_ACCOUNT_##name,
enum mpr_account_kind { MPR_ACCOUNT_KINDS(X) };
#undef X
extern const char *const mpr_account_kind[];

struct mpr_account_instant {
    enum mpr_account_kind kind;
    uint64_t since, time; /* nothing changed from the events at `since` to `time` */
    uint64_t used;        /* bytes: the sum of the parts */
    bool measured;        /* false if `used` is only the sum of recorded allocations */
    const struct mpr_device_part *part; /* the same bytes as in mpr_device_account.part */
    size_t parts;
};

struct mpr_account_part {
    const char *key, *name;
    int64_t *bytes; /* by instant */
};

struct mpr_device_account {
    unsigned index;
    const char *name, *uuid;
    uint64_t total; /* bytes of the device */
    struct mpr_account_instant *instant;
    size_t instants;
    struct mpr_account_part *part; /* parts that are not 0 at some instant */
    size_t parts;
};

/* Returns the accounts of a log that was read with instants (gpu.h), and of its peaks and
 * out-of-memory events, in [from, to], ns. @kept: also gets the segments at the instants, or
 * NULL. */
struct mpr_device_account *mpr_device_accounts(struct mpr_arena *arena,
                                               const struct mpr_reader *reader, uint64_t from,
                                               uint64_t to, struct mpr_segments_series *kept,
                                               size_t *devices);

#endif
