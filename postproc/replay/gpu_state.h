/* Device memory: driver blocks, handles, PyTorch's blocks, hidden memory, graphs and failures, per
 * device.
 *
 * The books (cells of gpuN/... and host/pinned) are kept as for host heaps; what is more is here.
 * A device's peak is the instant when most of it was used: the newest measurement plus what was
 * allocated since; among equal ones the instant when PyTorch held most.  What was live then is kept
 * as a picture, taken just before the first event that can shrink it. */
#ifndef MPR_GPU_STATE_H
#define MPR_GPU_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "amount.h"
#include "comms.h"
#include "gpu_blocks.h"
#include "index.h"
#include "intervals.h"
#include "mpf/event.h"
#include "mpf/gpu.h"
#include "mpf/sample.h"

enum mpr_part {
    MPR_PART_GRAPHS,
    MPR_PART_CONTEXT,
    MPR_PART_MODULES,
    MPR_PART_LOCAL,
    MPR_PART_STREAMS,
    MPR_PART_POOLS,
    MPR_PARTS
};

enum { MPR_POOL_USERS = 4 }; /* that a picture has at most */

/* A device at one instant. */
struct mpr_picture {
    bool valid;
    uint64_t time;                /* ns */
    uint64_t used, others, total; /* bytes; used by everybody, by other processes and the driver;
                                     MPF_UNKNOWN */
    uint64_t file_cache;          /* of others: the host's cache of files; MPF_UNKNOWN */
    uint64_t tracked;             /* of gpuN/device */
    int64_t part[MPR_PARTS];      /* measured growth around calls of each kind */
    bool parts_cut;               /* other processes caused some of it, which was left out */
    uint64_t managed;             /* live managed memory, on the device or not */
    uint64_t pools, graph_memory; /* of tracked: held by stream-ordered pools, by graphs' memory
                                     nodes */
    uint32_t pool_user[MPR_POOL_USERS]; /* libraries that made pools grow which hold something,
                                           each once */
    unsigned pool_users;
    struct mpr_gpu_block *driver; /* by address; a handle's memory at its first mapping, 0 when it
                                     has none */
    size_t drivers;
    struct mpr_gpu_block *torch; /* by address */
    size_t torches;
    /* while it is open: what is not gathered yet */
    bool open;
    unsigned device;
    uint64_t births, mappings;  /* of blocks, and of memory with handles, up to its instant */
    struct mpr_gpu_block *gone; /* of blocks, since */
    size_t gones, gone_cap;
};

/* The instant when most was used, so far. */
struct mpr_best {
    uint64_t used, torch, tracked, time;
    bool stale; /* its picture is not taken yet */
};

/* A span of time whose own peak is wanted.  Belongs to the caller, who frees the picture. */
struct mpr_window {
    unsigned device;
    uint64_t from, to; /* ns */
    struct mpr_best best;
    struct mpr_picture peak; /* not valid: the device held nothing */
};

struct mpr_gpu_device {
    bool seen;
    bool shared;                        /* its memory is the host's */
    char uuid[64], name[128], off[160]; /* off: why driver allocations are missing */
    char used_off[160];                 /* why used bytes are not sampled */
    char by_name[160];                  /* why calls were heard of by their names; "": by CUPTI */
    uint64_t total;
    uint64_t used, others, file_cache; /* newest measurement */
    uint64_t tracked_then;             /* tracked bytes at that time */
    int64_t surprise; /* what measurements had lately more, or less, than was expected */
    uint64_t surprise_time;
    /* At the newest GPU_RETURN */
    struct {
        uint64_t used, tracked, serial;
    } after;
    int64_t part[MPR_PARTS];
    bool own_known;                               /* a sample had the process's own figure */
    int64_t own_hidden;                           /* the most of it that was not tracked */
    int64_t parts_then;                           /* sum of part at the newest such sample */
    bool limit_raised;                            /* the next measured launch is cuCtxSetLimit's */
    uint64_t torch_reserved, torch_reserved_peak; /* PyTorch's own totals */
    struct mpr_best best;
    struct mpr_picture peak;
};

/* Used bytes: the newest measurement, and what was tracked since.  Less may be in use than is live
 * (PyTorch's sleep mode). */
static inline uint64_t mpr_gpu_device_used(const struct mpr_gpu_device *d, uint64_t tracked)
{
    if (d->used == MPF_UNKNOWN) return MPF_UNKNOWN;
    return tracked < d->tracked_then ? mpr_less(d->used, d->tracked_then - tracked)
                                     : d->used + (tracked - d->tracked_then);
}

struct mpr_capture {
    uint64_t time, graph, pool[2]; /* ns; PyTorch's graph object and pool id, 0 when it is not
                                      PyTorch's */
    uint32_t thread, node, burst;
    uint64_t segment_bytes, block_bytes; /* made while it lasted */
    uint8_t device;                      /* of the newest of these */
    bool instantiated; /* before it ended: PyTorch does so, unless the graph is kept */
    uint64_t reset;    /* ns, when PyTorch's graph gave up its pool; 0: it did not */
    uint32_t shared;   /* number of its pool; 0: none */
};

struct mpr_graph {
    uint64_t time, exec, nodes;
    int64_t instantiated, launched; /* growth of used bytes, at its instantiation and first launch
                                     */
    uint32_t thread, node, capture; /* capture: number from 1; 0: built by hand */
    uint32_t older; /* number of the one before with its handle that is not gone; 0: none */
    uint8_t device;
    bool gone;
};

struct mpr_oom {
    uint64_t time, bytes, free, total; /* MPF_UNKNOWN */
    uint64_t flushed;                  /* given back between the first refusal and the last one */
    uint32_t thread, node, library, python, attempts;
    uint8_t heap;
    bool inherited, hard, capturing, torch;
    uint64_t torch_allocated, torch_reserved;
    struct mpr_picture picture; /* not valid: newer failures took its room (MPR_OOM_PICTURES), or
                                   it was no lack of device memory */
};
enum { MPR_OOM_PICTURES = 16 };

/* Of a thread. */
struct mpr_gpu_thread {
    uint64_t context; /* of the events from now on */
    bool freeing, entered;
    struct mpr_gpu_block freed; /* between MOVE_BEGIN and MOVE_END; addr 0: it was not known */
    struct {
        uint32_t call;
        uint8_t device;
        uint64_t used, tracked, serial;
    } enter;
    uint32_t pool_site;  /* of its newest block of a stream-ordered pool */
    uint32_t comm;       /* of the NCCL range that is open */
    uint32_t nccl_open;  /* NCCL's ranges */
    uint64_t nccl_since; /* ns: when the outermost of them, the newest, was pushed */
    bool popped;         /* a payload that comes now is of the range that was popped */
    uint32_t capture;    /* under way; 0: none */
    uint32_t last_capture;
    bool torch_capture;
    bool capture_early; /* PyTorch has begun to begin it: what it makes before the driver begins is
                           no graph's */
    uint32_t oom;       /* number of a failure that is not decided yet, from 1 */
    bool oom_past; /* the thread has made something else since: the next refusal is another failure
                    */
    uint32_t torch_oom;          /* number of the failure that PyTorch told of last, from 1 */
    uint32_t carried, own, path; /* path of `own` under the ranges of `carried`, as last built */
};

/* Memory with a handle. */
struct mpr_object {
    uint64_t handle; /* 0: all references are dropped, it lives by its mappings */
    uint64_t refs, mappings;
    uint64_t owed;      /* drops of its handle to come, though the handle was handed out again */
    uint32_t next_owed; /* number of an older object that owes drops of that handle */
    struct mpr_gpu_block block; /* addr: first mapping */
    uint32_t next_free;
    bool imported, live;
    bool shown; /* it has been mapped */
};

struct mpr_instants;

struct mpr_gpu {
    struct mpr_gpu_blocks driver, torch;
    struct mpr_object *object;                 /* memory with handles */
    uint32_t objects, object_cap, object_free; /* object_free: number of one that is gone, from 1 */
    struct mpr_index handles, owed; /* by handle: number of the object with references; of the
                                       newest that owes drops */
    struct mpr_intervals maps;      /* of objects, by index */
    struct mpr_intervals unmapped;  /* all addresses that were, ever */
    uint64_t mappings;              /* times that such memory was mapped or unmapped */
    /* Whose memory was unmapped from where; slept_at: by address, numbers */
    struct mpr_slept {
        uint32_t library, comm;
        bool segment;
    } * slept;
    uint32_t slepts, slept_cap;
    struct mpr_index slept_at;
    struct mpr_pool {
        uint64_t id, bytes;
        /* What it grew by, oldest first */
        struct mpr_step {
            uint64_t bytes;
            uint32_t cell;
        } * step;
        uint32_t steps, step_cap;
        uint32_t library; /* that made it grow first, of those that are known */
        uint32_t older;   /* number of another heap's pool of that id */
        uint8_t heap;
    } * pool;
    uint32_t pools, pool_cap;
    struct mpr_index pool_of;                             /* by id: number of the newest */
    uint64_t pool_bytes[MPF_GPUS], graph_bytes[MPF_GPUS]; /* that the pools of a device hold; that
                                                             its graphs' memory nodes do */
    struct mpr_gpu_device device[MPF_GPUS];
    struct mpr_comms comms;
    struct mpr_capture *capture;
    uint32_t captures, capture_cap;
    struct {
        uint64_t from, to;
        uint32_t capture;
    } adopted;                 /* the segment around the newest block of a capture */
    struct mpr_index captured; /* by PyTorch's graph: number of its newest capture that still holds
                                  its pool */
    /* Pools of captures */
    struct mpr_shared {
        uint64_t pool[2], until;
        uint32_t holding, next;
    } * shared;
    uint32_t shareds, shared_cap;
    struct mpr_index shared_of; /* by hash of the pool: number of the first; `next` of others */
    struct mpr_graph *graph;
    uint32_t graphs, graph_cap;
    struct mpr_index executable; /* by handle: number of the newest graph that is not gone */
    struct mpr_oom *oom;
    uint32_t ooms, oom_cap;
    uint32_t pictured[MPR_OOM_PICTURES], pictures; /* of them, oldest picture first */
    uint64_t serial;                               /* of measurements */
    uint64_t births;                               /* of blocks */
    uint32_t comm;                                 /* newest communicator at work on any thread */
    /* Blocks whose communicator is guessed; object: number of one with a handle */
    struct mpr_guess {
        uint64_t addr, time;
        uint32_t object;
    } * guess;
    uint32_t guesses, guess_cap;
    uint64_t context_blocks;   /* blocks that went with their context */
    struct mpr_window *window; /* set before the first event; NULL: none */
    size_t windows;
    struct mpr_instants *instants; /* the same; the caller's */
};

#endif
