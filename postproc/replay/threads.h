/* The recorded threads: their names, and the ranges that are open on each. */
#ifndef MPR_THREADS_H
#define MPR_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocks.h"
#include "gpu_state.h"
#include "host_memory.h"
#include "index.h"
#include "ranges.h"
#include "sites.h"

#define MPR_THREADS_MAX (1u << 22) /* larger numbers count as thread 0 */
#define MPR_STACK_MAX   4096u      /* open ranges of one thread; deeper ones are only counted */
#define MPR_REMAPS      2u         /* mremaps of one thread in progress */

struct mpr_forward;

struct mpr_open_range {
    uint64_t push; /* number of its PUSH in the log */
    uint32_t name, domain, node;
    /* While an autograd node runs on the thread: the path and the Python stack of its forward
     * operator (backward.h). */
    uint32_t forward, python;
};

struct mpr_thread {
    uint32_t number;
    uint32_t node;                       /* path of the open ranges */
    struct mpr_site at;                  /* call stack of the next event */
    uint32_t application;                /* number of open ranges of the application (domain 0) */
    uint32_t depth, cap, depth_overflow; /* of `stack`; depth_overflow: ranges that are deeper */
    struct mpr_open_range *stack;
    uint64_t popped; /* PUSH of the range that the newest POP closed, 0 if unknown */
    bool ended, moving;
    struct mpr_block moved; /* moving: the block that realloc works on; key 0: unknown */
    unsigned remaps; /* mremaps in progress: that of a signal handler may interrupt another */
    struct mpr_mremap remap[MPR_REMAPS];
    uint64_t failed_remap[2]; /* start and size of the last mremap that failed */
    uint64_t nvtx_heap;       /* heap of its next NVTX regions (replay.h) */
    struct mpr_gpu_thread gpu;
    struct mpr_forward *forward; /* of its autograd nodes; NULL: none, or they are not needed */
    uint64_t tid;                /* the kernel's, 0 if unknown */
    uint64_t first_ns, ended_ns;
    struct mpr_thread *newer, *older; /* in the list of threads with ranges of the application */
    char name[32];                    /* the newest, as the program set it */
};

struct mpr_threads {
    struct mpr_thread **at; /* by number; NULL for an unused number */
    uint32_t count, cap;    /* count: highest number + 1 */
    /* The threads that pushed a range of the application, by their last such PUSH, newest first.
     * Threads without an open one may be missing. */
    struct mpr_thread *newest;
    struct mpr_index forward_of; /* by PyTorch's number of the thread: number + 1 */
};

/* Returns the thread with this number, which is made if it is new. */
struct mpr_thread *mpr_threads_get(struct mpr_threads *threads, uint32_t number);
void mpr_threads_free(struct mpr_threads *threads);
void mpr_thread_push(struct mpr_thread *t, struct mpr_ranges *ranges, uint64_t push, uint32_t name,
                     uint32_t domain);
/* Closes the newest range of the domain. Ranges of other domains that were opened inside it stay
 * open. */
void mpr_thread_pop(struct mpr_thread *t, struct mpr_ranges *ranges, uint32_t domain);
/* Call when the thread has pushed a range of the application: makes it the newest one. */
void mpr_threads_set_newest(struct mpr_threads *threads, struct mpr_thread *t);
/* Returns the thread whose ranges other threads inherit: of the threads with an open range of the
 * application, the one that pushed such a range last.  NULL if there is none. */
struct mpr_thread *mpr_threads_range_source(struct mpr_threads *threads);
/* Ends the thread and its ranges. */
void mpr_thread_end(struct mpr_thread *t, uint64_t time);

#endif
