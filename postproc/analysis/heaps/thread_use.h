/* The memory of each thread: the result of `memprof-report threads`.
 *
 * Everything in it lives until mpr_thread_use_free.  Times are ns since the process's start. */
#ifndef MPR_THREAD_USE_H
#define MPR_THREAD_USE_H

#include "peaks.h"

struct mpr_thread_life {
    const struct mpr_frame *frame;
    const char *name; /* its text, with the kernel's number */
    uint64_t number, tid;
    uint64_t first_ns, ended_ns; /* ended_ns: UINT64_MAX if it was alive at the end, or unknown */
    bool allocated;              /* in any heap */
};

/* One thread in one heap. */
struct mpr_thread_row {
    struct mpr_thread_life thread;
    uint64_t bytes, blocks; /* at the heap's peak */
    uint64_t end_bytes, end_blocks, own_peak, allocations;
    uint64_t all_bytes; /* sum of all blocks that it allocated, or MPF_UNKNOWN if memory is counted
                           by pages or known from samples */
    bool estimated;     /* from samples */
};

struct mpr_thread_heap {
    uint8_t heap;
    uint64_t peak_bytes, peak_time, end_bytes;
    uint8_t inside;             /* see struct mpr_heap_peak */
    struct mpr_thread_row *row; /* by bytes at the peak, largest first */
    size_t rows;
};

struct mpr_thread_use {
    struct mpr_peaks peaks;         /* one log: its summary */
    uint8_t heap;                   /* the requested heap, or MPF_HEAP_NONE for all */
    struct mpr_thread_life *thread; /* all of them, by number */
    size_t threads;
    struct mpr_thread_heap *at; /* largest peak first */
    size_t heaps;
};

/* Reads one log.  @heap: MPF_HEAP_NONE for all.  Returns 0, or -1 with *error filled and nothing to
 * free. */
int mpr_thread_use_read(struct mpr_thread_use *out, const char *path, uint8_t heap,
                        const struct mpr_progress *progress, struct mpr_error *error);
void mpr_thread_use_free(struct mpr_thread_use *out);

#endif
