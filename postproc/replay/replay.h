/* Replay: computes from events in time order how many bytes each range, thread and call stack
 * holds, now and at each heap's peak.
 *
 * One pass.  Memory grows with live blocks, ranges and threads, never with events.  Not
 * thread-safe.
 */
#ifndef MPR_REPLAY_H
#define MPR_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accounts.h"
#include "alloc_free_matrix.h"
#include "blocks.h"
#include "counted.h"
#include "estimates.h"
#include "gpu_state.h"
#include "group.h"
#include "host_memory.h"
#include "index.h"
#include "instant.h"
#include "intervals.h"
#include "large.h"
#include "lifetime_histogram.h"
#include "live_index.h"
#include "mpf/event.h"
#include "mpf/slot.h"
#include "ranges.h"
#include "reorder.h"
#include "samples.h"
#include "sites.h"
#include "threads.h"

/* ---- NVTX (nvtx_heaps.c)
 *
 * Heaps that libraries register with NVTX, and the regions in them.  A region is a block of the
 * heap nvtx/regions, and its bytes also count in another heap.
 *
 * Registered heaps with the same name share a row, because programs create and destroy many pools.
 */

struct mpr_thread;

/* All registered heaps with one name.  Row n - 1 is heap n of `accounts`. */
enum { MPR_NVTX_ROWS = MPR_HEAPS - 1 };
struct mpr_nvtx_row {
    uint32_t name; /* a name of the ranges, or one of those below */
    uint64_t heaps, resets;
    uint64_t bytes, most_bytes; /* total of the registered heaps, now and at its maximum */
};
/* Names that replay adds.  No name in a log has these numbers. */
enum {
    MPR_NVTX_UNNAMED = 0,
    MPR_NVTX_PROCESS = 1,       /* regions that are in no heap */
    MPR_NVTX_UNREGISTERED = 2,  /* heaps whose registration is not in the log */
    MPR_NVTX_OTHER = UINT32_MAX /* all heaps for whose names there are no rows */
};

struct mpr_nvtx_heap {
    uint64_t handle, bytes;
    uint32_t row;
    uint32_t first; /* its newest region: place + 1 */
    uint32_t next;  /* of an unused place: the next unused one + 1 */
};

struct mpr_nvtx_region {
    uint64_t addr, size;
    uint64_t epoch; /* epoch of its row when it was registered; only later peaks include it */
    uint32_t cell, row_cell; /* in the accounts of the replay, and in those by name */
    uint32_t heap;           /* place */
    uint32_t newer, older;   /* places + 1 of its neighbours in its heap; newer also links unused
                                places */
    bool weighed;            /* a sampled block, which represents others */
};

struct mpr_nvtx {
    /* A heap for each row, and a cell for each name of regions.  NULL until there is a region. */
    struct mpr_accounts *accounts;
    struct mpr_nvtx_row row[MPR_NVTX_ROWS];
    uint32_t rows;
    struct mpr_index row_number; /* by name: number from 1 */
    struct mpr_nvtx_heap *heap;
    uint32_t heaps, heap_cap, heap_free;
    struct mpr_index heap_number; /* by handle: place + 1 */
    struct mpr_nvtx_region *region;
    uint32_t regions, region_cap, region_free;
    struct mpr_index region_number; /* by address: place + 1 */
};

void mpr_nvtx_free(struct mpr_nvtx *n);
/* Applies an event of MPF_HEAP_NVTX. */
void mpr_nvtx_event(struct mpr_replay *r, struct mpr_thread *t, const struct mpf_event *e);

struct mpr_replay_options {
    enum mpr_group by;     /* grouping of the cells */
    struct mpr_instant at; /* the selected instant, whose state replaces the peaks */
    bool has_parent;       /* a forked child: unknown blocks that it frees are its parent's */
    bool attached;         /* unknown blocks are from before the attach */
    uint64_t before_bytes; /* of these at the attach; 0: unknown */
    bool no_inherit;       /* threads without ranges do not take those of another thread */
    bool backward_of;      /* PyTorch's backward ranges are put below their forward operators */
    bool backward_also;    /* device blocks have both: their own path and the backward path */
    /* Skip all blocks but not their call stacks, because the caller needs only ranges and names. */
    bool without_blocks;
    bool without_malloc; /* skip malloc's blocks, because the caller reports on devices only */
    double sample_mean;  /* mean bytes between sampled call stacks, 0 if they are not sampled */
    /* The same for Python stacks of PyTorch's blocks.  If a log has both, the means are equal. */
    double torch_sample_mean;
    double python_sample_mean; /* the same for Python's small objects: only samples are recorded */
    uint64_t sample_below;     /* blocks of this size and above are not sampled */
    double host_sample_mean;   /* the same for blocks of host/heap, if only samples are recorded */
    uint64_t host_sample_below;
    bool host_sums_estimated; /* blocks of host/heap that are not recorded were not even counted */
    bool in_window;           /* a capture window is open at the start of the log */
    bool pools_exact;         /* the levels of stream-ordered pools are never late (format 1.11) */
    char rest_name[80];       /* name of blocks that are counted, but not recorded (counted.h) */
};

struct mpr_replay;
struct mpr_snapshots;

/* Callback for every event except allocations and frees, after replay has applied it. */
struct mpr_watch {
    void (*event)(void *arg, const struct mpr_replay *r, const struct mpr_thread *t,
                  const struct mpf_event *e);
    void *arg;
};
enum { MPR_WATCHES = 8 };

/* Callback at intervals of at least `every` ns, the first time before the first event at `next` or
 * later.  @time: of the event that follows.  The accounts have not changed since r->now. */
struct mpr_clock {
    void (*tick)(void *arg, const struct mpr_replay *r, uint64_t time); /* or NULL */
    void *arg;
    uint64_t every, next;
};

/* Times (ns since the log's start) at which capture windows were open, from WINDOW events. */
struct mpr_capture_windows {
    bool open;
    uint64_t since;             /* when the open one was opened */
    uint64_t count;             /* opened so far */
    uint64_t first_ns, last_ns; /* the first opening, the last closing */
    uint64_t closed_ns;         /* total duration of closed windows */
};

enum { MPR_WRAPPER_PATHS = 1024, MPR_UNWRITTEN_MAX = 8 };

struct mpr_replay {
    struct mpr_replay_options options;
    struct mpr_accounts accounts;
    struct mpr_blocks blocks;
    struct mpr_ranges ranges;
    struct mpr_intervals mappings;     /* host_memory.h */
    struct mpr_intervals large_blocks; /* large blocks of host/heap (host_blocks.c) */
    struct mpr_threads threads;
    struct mpr_reorder repairs;
    struct mpr_samples samples;
    struct mpr_sites sites; /* call stacks */
    struct mpr_gpu gpu;
    struct mpr_nvtx nvtx;
    struct mpr_estimates estimates;
    struct mpr_counted_totals totals;
    struct mpr_before before; /* of an attached process */
    /* The newest BLOCK_BYTES, whose thread's next event it is about. */
    struct mpr_block_bytes {
        uint64_t bytes;
        uint32_t thread;
    } block_bytes;
    uint32_t thinned_site; /* site of blocks in thinned parts of the log, 0 without such parts */
    struct mpr_counted_blocks thinned[MPR_HEAPS];
    struct mpr_capture_windows windows;
    /* A cache of mpr_alloc_context_path, by hash. */
    struct mpr_wrapper_path {
        uint32_t node, python, path;
    } wrapper_path[MPR_WRAPPER_PATHS];
    struct mpr_large *large; /* observers of blocks, or NULL */
    struct mpr_lifetime_histogram *lifetimes;
    struct mpr_alloc_free_matrix *alloc_free;
    struct mpr_ledger *ledger;
    struct mpr_snapshots *snapshots; /* several selected instants (projection.h), or NULL */
    struct mpr_watch watch[MPR_WATCHES];
    uint32_t watches;
    uint64_t count[256];  /* events by operation */
    uint64_t lost;        /* lost events */
    uint64_t lost_by[16]; /* the same by reason */
    /* The first frames that could not be written. */
    struct mpf_unwritten unwritten[MPR_UNWRITTEN_MAX];
    uint32_t unwrittens;
    uint64_t now;   /* time of the newest event */
    uint32_t actor; /* the thread of the event; MPR_NOBODY: unknown */
    /* ns, UINT64_MAX: never.  At an event at or after `advance_at` the selected instant begins or
     * ends, or the clock ticks; instant_at is the time of the former. */
    uint64_t advance_at, instant_at;
    struct mpr_clock clock;
    bool instant_begun;
    bool instant_is_over; /* the selected instant is over */
};

void mpr_replay_init(struct mpr_replay *r, const struct mpr_replay_options *options);
void mpr_replay_free(struct mpr_replay *r);
/* Adds a watch; call it before the first event. A later watch sees an event before earlier ones. */
void mpr_watch_begin(struct mpr_replay *r, struct mpr_watch watch);
/* Sets the clock; call it before the first event. */
void mpr_clock_begin(struct mpr_replay *r, const struct mpr_clock *clock);
void mpr_replay_batch(struct mpr_replay *r, const struct mpf_event *events, size_t count);
/* Call after the last event. */
void mpr_replay_finish(struct mpr_replay *r);

/* Returns true if the log has samples of the blocks of host/heap, and only totals of the others. */
static inline bool mpr_replay_samples_host(const struct mpr_replay *r)
{
    return r->options.host_sample_mean > 0;
}
/* Returns true if sampled blocks of the heap represent blocks of another cell.  If cells are
 * grouped by call stack, that is the cell of blocks without a stack.  By AUTO, only sampled blocks
 * outside any range represent others, because the rest is grouped by range.  Those of host/python
 * represent blocks that are in no cell. */
static inline bool mpr_replay_extrapolates(const struct mpr_replay *r, uint8_t heap)
{
    const enum mpr_group by = r->options.by;
    const bool by_stacks = by == MPR_GROUP_STACK || by == MPR_GROUP_PYTHON ||
                           by == MPR_GROUP_LIBRARY || by == MPR_GROUP_AUTO;
    if (heap == MPF_HEAP_HOST && mpr_replay_samples_host(r)) return true;
    return heap != MPF_HEAP_PYTHON && r->estimates.stacks.mean > 0 && by_stacks;
}
/* Returns true if it is that cell: its blocks have no stack, or are not recorded one by one. */
static inline bool mpr_replay_is_represented(const struct mpr_replay *r,
                                             const struct mpr_cell *cell)
{
    if (cell->heap == MPF_HEAP_HOST && mpr_replay_samples_host(r))
        return mpr_counted_totals_is(&r->totals, &r->accounts, cell);
    return !cell->key && cell->heap != MPF_HEAP_PYTHON;
}

#endif
