/* The recorded threads: their names, and the ranges that are open on each. */
#ifndef MPR_THREADS_H
#define MPR_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocks.h"
#include "gpu_state.h"
#include "index.h"
#include "ranges.h"
#include "regions.h"
#include "sites.h"

#define MPR_THREADS_MAX (1u << 22) /* larger numbers are taken as thread 0 */
#define MPR_STACK_MAX   4096u      /* open ranges of one thread; deeper ones are only counted */
#define MPR_REMAPS      2u         /* of one thread; of older ones the end was lost */

struct mpr_forward;

struct mpr_open_range {
    uint64_t push; /* which PUSH of the log it is */
    uint32_t name, domain, node;
    uint32_t forward, python; /* of the run of a node of autograd: where its operator ran
                                 (backward.h); else 0 */
};

struct mpr_thread {
    uint32_t number;
    uint32_t node;               /* path that is open now */
    struct mpr_site at;          /* of the next event */
    uint32_t application;        /* open ranges of the default domain */
    uint32_t depth, cap, beyond; /* of `stack`; pushes beyond MPR_STACK_MAX */
    struct mpr_open_range *stack;
    uint64_t popped; /* the PUSH of the range that the newest POP closed; 0: none that is known */
    bool ended, moving;
    struct mpr_block moved; /* moving: the block that realloc works on; key 0: it was not known */
    unsigned remaps;        /* that are under way: a handler's interrupts another one */
    struct mpr_leaving remap[MPR_REMAPS];
    uint64_t refused[2]; /* start and size of the last one that a FAIL ended */
    uint64_t nvtx_heap;  /* that its regions lie in (nvtx_heaps.h) */
    struct mpr_gpu_thread gpu;
    struct mpr_forward *forward; /* NULL: it makes no nodes of autograd, or they are not wanted */
    uint64_t tid;                /* the kernel's; 0: not known */
    uint64_t first_ns, ended_ns; /* ended_ns: where it has ended */
    struct mpr_thread *newer, *older; /* in the list of threads with ranges of the application */
    char name[32];                    /* newest, as the program gave it */
};

struct mpr_threads {
    struct mpr_thread **at;    /* by number; NULL: not seen */
    uint32_t count, cap;       /* highest number + 1 */
    struct mpr_thread *newest; /* of those with ranges of the application, and of some that had: by
                                  newest PUSH of one, then `older` */
    struct mpr_index forward_of; /* by PyTorch's number of the thread: number + 1 */
};

/* The thread of that number, made when new. */
struct mpr_thread *mpr_threads_get(struct mpr_threads *threads, uint32_t number);
void mpr_threads_free(struct mpr_threads *threads);
void mpr_thread_push(struct mpr_thread *t, struct mpr_ranges *ranges, uint64_t push, uint32_t name,
                     uint32_t domain);
/* Closes the newest range of the domain; what was opened inside it and belongs to other domains
 * stays open. */
void mpr_thread_pop(struct mpr_thread *t, struct mpr_ranges *ranges, uint32_t domain);
/* It has pushed a range of the application: it becomes the newest. */
void mpr_threads_carry(struct mpr_threads *threads, struct mpr_thread *t);
/* The thread with open ranges of the application that pushed one last; NULL: none has any. */
struct mpr_thread *mpr_threads_carrier(struct mpr_threads *threads);
/* It is gone: gives back its stack. */
void mpr_thread_end(struct mpr_thread *t, uint64_t time);

#endif
