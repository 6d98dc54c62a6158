/* The content of a log: the result of `memprof-report log info`.  Lives until mpr_info_free. */
#ifndef MPR_INFO_H
#define MPR_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "progress.h"
#include "summary.h"

struct mpr_error;
struct mpr_replay;

struct mpr_info_pair {
    const char *key, *value;
};
struct mpr_info_count {
    const char *name, *text;
    uint64_t events;
};
struct mpr_info_thread {
    const char *name;     /* with the kernel's number */
    uint64_t number, tid; /* tid: the kernel's number, or 0 if unknown */
    uint64_t first_ns, ended_ns;
    bool ended;     /* if false, the end is unknown and ended_ns is UINT64_MAX */
    bool allocated; /* it allocated in some heap; set by peaks.h only */
};

/* A heap that libraries registered with NVTX, or a region of it: the sum of all with that name. */
struct mpr_info_nvtx {
    const char *heap;
    const char *region;           /* NULL for the sum of the heap's regions */
    uint64_t heaps, resets, size; /* of heaps: number that were registered, number of resets,
                                     maximum of their sizes */
    uint64_t peak_bytes, peak_blocks, peak_time; /* of regions, at the peak of the heap */
    uint64_t end_bytes, end_blocks;
    uint64_t allocations;
};

struct mpr_info {
    struct mpr_arena arena;
    struct mpr_summary summary;
    struct mpr_info_pair *header; /* every pair of the log's header */
    size_t headers;
    struct mpr_info_count *count; /* operations that occur, in the order of their codes */
    size_t counts;
    struct mpr_info_thread *thread;
    size_t threads;
    const struct mpr_info_nvtx *heap, *region; /* NULL if there are none */
    size_t heaps, regions;
    uint64_t names, domains, paths; /* of ranges */
    uint64_t own_memory;            /* maximum resident memory of memprof itself, or MPF_UNKNOWN */
};

/* Returns 0, or -1 with *error filled and nothing to free. */
int mpr_info_read(struct mpr_info *info, const char *path, const struct mpr_progress *progress,
                  struct mpr_error *error);
void mpr_info_free(struct mpr_info *info);

/* Return one thread, and all threads of a replay by number, in the arena. */
struct mpr_info_thread mpr_info_thread(struct mpr_arena *arena, const struct mpr_replay *r,
                                       uint32_t number);
struct mpr_info_thread *mpr_info_threads(struct mpr_arena *arena, const struct mpr_replay *r,
                                         size_t *threads);

#endif
