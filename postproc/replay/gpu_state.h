/* The state of device memory: driver blocks, memory with handles, PyTorch's blocks, measured
 * memory, graphs and failures, per device.
 *
 * The accounts have cells for gpuN/... and host/pinned, as for the host's heaps. The details of
 * each block, which reports and snapshots need, are here. */
#ifndef MPR_GPU_STATE_H
#define MPR_GPU_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "amount.h"
#include "index.h"
#include "intervals.h"
#include "mpf/event.h"
#include "mpf/gpu.h"
#include "mpf/sample.h"

/* ---- blocks */

struct mpr_gpu_block {
    uint64_t addr;
    uint64_t size, time; /* bytes; ns when it was made */
    uint64_t birth;      /* serial number of the block, from 1 */
    uint64_t context;    /* CUDA context of the thread that made it, 0 if unknown */
    uint32_t cell, thread, node;
    uint32_t site, library, python; /* numbers of sites.h, 0 if unknown */
    uint32_t comm;                  /* number of its NCCL communicator, 0 if none */
    uint32_t capture;               /* number of the graph capture it was made in, 0 if none */
    uint8_t heap;
    bool inherited;    /* the ranges of `node` were open on another thread */
    bool comm_guessed; /* comm is only a guess and may be corrected later */
    bool weighed;      /* a PyTorch block that may represent others without a Python stack */
    bool handle;       /* memory with a handle: adjacent blocks may belong together */
    bool segment;      /* allocated by PyTorch's caching allocator, directly or by a plug-in */
    uint32_t backward_node, backward_site; /* those of the forward operator, for a block of a
                                              backward pass, if known; otherwise `node` and `site`
                                            */
    uint64_t asleep; /* PyTorch block in a snapshot: bytes without memory (sleep mode) */
};

/* Returns the bytes of the block that have memory. */
static inline uint64_t mpr_gpu_backed(const struct mpr_gpu_block *b)
{
    return mpr_saturating_sub(b->size, b->asleep);
}

/* Live blocks by address, in no order: the last one moves to the place of a removed one. */
struct mpr_gpu_blocks {
    struct mpr_gpu_block *at;
    uint32_t live, cap;
    struct mpr_index number; /* by address: place + 1 */
};

/* Returns the block, valid until the table changes, or NULL. */
struct mpr_gpu_block *mpr_gpu_blocks_find(const struct mpr_gpu_blocks *b, uint64_t addr);
/* Compares blocks by address, then by birth, for qsort. */
int mpr_gpu_block_by_address(const void *left, const void *right);

/* Memory with a handle (cuMemCreate). */
struct mpr_handle_object {
    uint64_t handle; /* 0: no reference is left, only mappings keep the memory */
    uint64_t refs, mappings;
    /* Drops of references that no event has recorded yet, although the driver has already given the
     * handle to other memory. */
    uint64_t owed;
    uint32_t next_owed;         /* number of an older object that owes drops of the same handle */
    struct mpr_gpu_block block; /* addr: of the first mapping, 0 if it is not mapped */
    uint32_t next_free;
    bool imported, live;
    bool was_mapped;
};

/* A stream-ordered pool, or (id 0) the memory nodes of a device's graphs. */
struct mpr_pool {
    uint64_t id, bytes;
    /* The growths of a pool that are still part of it, oldest first. */
    struct mpr_pool_part {
        uint64_t bytes;
        uint32_t cell, node, site; /* of the place at which it grew */
    } * part;
    uint32_t parts, part_cap;
    uint32_t library; /* the first known library that made it grow */
    uint8_t heap;
};

/* ---- snapshots of a device */

enum mpr_part {
    MPR_PART_GRAPHS,
    MPR_PART_CONTEXT,
    MPR_PART_MODULES,
    MPR_PART_LOCAL,
    MPR_PART_STREAMS,
    MPR_PART_POOLS,
    MPR_PARTS
};

enum { MPR_POOL_USERS = 4 };

/* A device at one instant. */
struct mpr_device_snapshot {
    bool valid;
    uint64_t time; /* ns */
    /* Bytes in use by all processes; in use by other processes and the driver; of the device.
     * These and file_cache are MPF_UNKNOWN if not measured. */
    uint64_t used, others, total;
    uint64_t file_cache;     /* bytes of `others` that are the host's file cache */
    uint64_t tracked;        /* bytes of gpuN/device */
    int64_t part[MPR_PARTS]; /* measured growth around the calls of each kind */
    bool parts_cut;          /* growth that other processes caused was subtracted */
    uint64_t managed;        /* live managed memory, wherever its pages are */
    /* Bytes of `tracked` that stream-ordered pools and the memory nodes of graphs hold. */
    uint64_t pools, graph_memory;
    uint32_t pool_user[MPR_POOL_USERS]; /* libraries whose pools hold memory, each once */
    unsigned pool_users;
    struct mpr_gpu_block *driver; /* by address; unmapped memory with a handle has address 0 */
    size_t drivers;
    struct mpr_gpu_block *torch; /* by address */
    size_t torches;
    /* Until the snapshot is finished: */
    bool open;
    unsigned device;
    uint64_t births, mappings;     /* values in struct mpr_gpu when it was begun */
    struct mpr_gpu_block *removed; /* blocks that were removed since then */
    size_t removals, removal_cap;
};

/* The best instant for a device's peak so far. */
struct mpr_best_instant {
    uint64_t used, torch, tracked, time;
    bool snapshot_due; /* its snapshot is not begun yet */
};

/* A span of time whose own peak is looked for. The caller owns it and frees the snapshot. */
struct mpr_peak_window {
    unsigned device;
    uint64_t from, to; /* ns */
    struct mpr_best_instant best;
    struct mpr_device_snapshot peak; /* not valid if the device held nothing */
};

enum { MPR_OWN_SAMPLES = 3 };

struct mpr_gpu_device {
    bool seen;
    bool shared;                        /* its memory is the host's */
    char uuid[64], name[128], off[160]; /* off: why driver allocations are missing */
    char used_off[160];                 /* why used bytes are not sampled */
    char by_name[160]; /* why calls were intercepted by name and not by CUPTI, or "" */
    uint64_t total;
    uint64_t used, others, file_cache; /* newest measurement */
    uint64_t tracked_at_used;          /* tracked bytes at that measurement */
    int64_t residual;                  /* measured minus expected bytes of recent measurements */
    uint64_t residual_time;
    struct {
        uint64_t used, tracked, serial;
    } after; /* at the newest GPU_RETURN */
    int64_t part[MPR_PARTS];
    bool own_known;          /* a sample had the process's own bytes */
    int64_t own_hidden;      /* maximum of the process's own bytes that were not tracked */
    int64_t parts_at_sample; /* sum of part at the newest such sample */
    uint64_t own, own_time;  /* of the newest such sample */
    int64_t own_recent[MPR_OWN_SAMPLES]; /* own bytes that were not tracked, in the newest such
                                            samples */
    unsigned own_samples;
    bool limit_raised; /* the next measured launch belongs to cuCtxSetLimit */
    uint64_t torch_reserved, torch_reserved_peak; /* PyTorch's own totals */
    struct mpr_best_instant best;
    struct mpr_device_snapshot peak;
};

/* Returns the used bytes: the newest measurement plus what was tracked since. This may be less than
 * the live bytes (PyTorch's sleep mode). */
static inline uint64_t mpr_gpu_device_used(const struct mpr_gpu_device *d, uint64_t tracked)
{
    if (d->used == MPF_UNKNOWN) return MPF_UNKNOWN;
    return tracked < d->tracked_at_used ? mpr_saturating_sub(d->used, d->tracked_at_used - tracked)
                                        : d->used + (tracked - d->tracked_at_used);
}

/* ---- CUDA graphs */

struct mpr_capture {
    uint64_t time;           /* ns */
    uint64_t graph, pool[2]; /* PyTorch's graph object and pool id, 0 if PyTorch did not make it */
    uint32_t thread, node, burst;
    uint64_t segment_bytes, block_bytes; /* made during the capture */
    uint8_t device;                      /* the device of the newest such block */
    bool instantiated; /* before the capture ended, as PyTorch does unless the graph is kept */
    uint64_t reset;    /* ns when PyTorch's graph released its pool, or 0 if it still holds it */
    uint32_t shared;   /* number of its pool, 0 if none */
};

/* The memory pool of one or more captures. */
struct mpr_graph_pool {
    uint64_t pool[2], until; /* until: ns when a graph released it last */
    uint32_t holding;        /* number of graphs that hold it */
};

struct mpr_graph {
    uint64_t time, exec, nodes;
    int64_t instantiated, launched; /* growth of used bytes at instantiation and first launch */
    uint32_t thread, node;
    uint32_t capture; /* number, 0 if it was built by hand */
    uint32_t older;   /* number of the previous live graph with its handle, 0 if none */
    uint8_t device;
    bool gone;
};

/* ---- out-of-memory events */

struct mpr_oom {
    uint64_t time, bytes, free, total; /* free and total may be MPF_UNKNOWN */
    uint64_t flushed;                  /* bytes freed between the first refusal and the last one */
    uint32_t thread, node, library, python, attempts;
    uint8_t heap;
    bool inherited, hard, capturing, torch; /* hard: the program did not get the memory */
    uint64_t torch_reserved;
    /* Not valid for a host failure, or if newer failures needed its place (MPR_OOM_SNAPSHOTS). */
    struct mpr_device_snapshot snapshot;
};
enum { MPR_OOM_SNAPSHOTS = 16 };

/* ---- NCCL's communicators, from the payloads of its NVTX ranges (domain "NCCL") */

struct mpr_comm {
    uint64_t id;          /* hash, as NCCL gives it; 0: not known (yet) */
    uint64_t ranks, rank; /* UINT64_MAX: unknown */
    uint32_t first_use;   /* name of the first range after its init, 0 if none */
    uint64_t time;        /* ns when it was first seen */
    bool split;           /* made by ncclCommSplit or ncclCommShrink */
};

struct mpr_comms {
    struct mpr_comm *comm; /* by number - 1 */
    uint32_t count, cap;
    uint32_t first_unnamed;          /* all splits before this number - 1 have their ids */
    struct mpr_index number, newest; /* numbers of communicators by id; of schemas by id */
    /* Offsets of the fields in a payload; -1: it has no such field. */
    struct mpr_schema {
        uint64_t id;
        int comm, ranks, rank;
    } * schema;
    uint32_t schemas, schema_cap;
};

/* ---- a thread's part */

struct mpr_gpu_thread {
    uint64_t context; /* CUDA context of its next events */
    bool freeing, entered;
    struct mpr_gpu_block freed; /* between MOVE_BEGIN and MOVE_END; addr 0: unknown block */
    struct {
        uint32_t call;
        uint8_t device;
        uint64_t used, tracked, serial;
    } enter;
    uint32_t pool_site;  /* site of its newest block of a stream-ordered pool */
    uint32_t comm;       /* communicator of the open NCCL range */
    bool splits;         /* that range makes a communicator, which NCCL does not name */
    uint32_t nccl_open;  /* number of open NCCL ranges */
    uint32_t nccl_name;  /* name of the outermost of them */
    uint64_t nccl_since; /* ns when it was pushed */
    bool popped;         /* a payload that comes next belongs to the range that was popped */
    uint32_t capture;    /* in progress, 0 if none */
    uint32_t last_capture;
    bool torch_capture;
    /* PyTorch has begun the capture and the driver has not, so new blocks belong to no graph. */
    bool torch_began_capture;
    uint32_t oom;       /* number of a failure whose outcome is not known yet, 0 if none */
    bool oom_is_old;    /* the thread has allocated since, so the next refusal is another failure */
    uint32_t torch_oom; /* number of the newest failure that PyTorch reported, 0 if none */
    struct mpr_inherited_path { /* a cache: `path` is `own` below the ranges of `source` */
        uint32_t source, own, path;
    } inherited;
};

/* ---- all of it */

struct mpr_device_snapshots;

struct mpr_gpu {
    struct mpr_gpu_blocks driver, torch;
    struct mpr_handle_object *object;          /* memory with handles, by number - 1 */
    uint32_t objects, object_cap, object_free; /* object_free: number of an unused one, 0 if none */
    struct mpr_index handles;                  /* by handle: number of the object with references */
    struct mpr_index owed;         /* by handle: number of the newest object that owes drops */
    struct mpr_intervals maps;     /* mappings; `value` is the object's index */
    struct mpr_intervals unmapped; /* every address range that was ever unmapped */
    uint64_t mappings;             /* number of maps and unmaps of such memory */
    /* Owners of unmapped memory, in case memory is mapped at the same address again. */
    struct mpr_unmapped_owner {
        uint32_t library, comm;
        bool segment;
    } * unmapped_owner;
    uint32_t unmapped_owners, unmapped_owner_cap;
    struct mpr_index unmapped_owner_at; /* by address: number */
    struct mpr_pool *pool;
    uint32_t pools, pool_cap;
    struct mpr_index pool_of;                             /* by hash of id and heap: number */
    uint64_t pool_bytes[MPF_GPUS], graph_bytes[MPF_GPUS]; /* bytes of pools; of graphs' nodes */
    struct mpr_gpu_device device[MPF_GPUS];
    struct mpr_comms comms;
    struct mpr_capture *capture;
    uint32_t captures, capture_cap;
    struct {
        uint64_t from, to;
        uint32_t capture;
    } adopted;                 /* the segment around the newest block of a capture */
    struct mpr_index captured; /* by PyTorch's graph: number of the capture that holds its pool */
    struct mpr_graph_pool *shared;
    uint32_t shareds, shared_cap;
    struct mpr_index shared_of; /* by hash of the pool's id: number */
    struct mpr_graph *graph;
    uint32_t graphs, graph_cap;
    struct mpr_index executable; /* by handle: number of the newest live graph */
    struct mpr_oom *oom;
    uint32_t ooms, oom_cap;
    uint32_t with_snapshot[MPR_OOM_SNAPSHOTS], snapshots; /* failures with a snapshot, oldest first
                                                           */
    uint64_t serial;                                      /* number of measurements */
    uint64_t births;                                      /* number of blocks so far */
    uint32_t comm; /* newest communicator that was at work on any thread */
    /* Blocks whose communicator is a guess; object: number of memory with a handle, else 0. */
    struct mpr_guess {
        uint64_t addr, time;
        uint32_t object;
    } * guess;
    uint32_t guesses, guess_cap;
    uint64_t context_blocks;        /* blocks that were freed with their context */
    struct mpr_peak_window *window; /* set by the caller before the first event, or NULL */
    size_t windows;
    struct mpr_device_snapshots *instants; /* likewise */
};

#endif
