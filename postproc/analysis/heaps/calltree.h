/* Live bytes by call stack, as a tree: the result of `memprof-report peaks --tree`.  Lives until
 * mpr_calltree_free. */
#ifndef MPR_CALLTREE_H
#define MPR_CALLTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "heap_names.h"
#include "instant.h"
#include "progress.h"
#include "summary.h"

struct mpr_error;

struct mpr_calltree_options {
    bool python;    /* Python's stacks instead of native ones */
    bool bottom_up; /* from the allocating call towards main */
    uint8_t heap;   /* MPF_HEAP_NONE: of the heaps with stacks the one with the largest peak */
    struct mpr_instant at;
};

/* A call below its callers. Calls are in preorder, callees of one call by bytes. */
struct mpr_call {
    const struct mpr_frame *frame;
    size_t parent; /* its own index if it has none */
    unsigned depth;
    uint64_t bytes, blocks;         /* including those of its callees */
    uint64_t own_bytes, own_blocks; /* of stacks that end with this call */
};

struct mpr_calltree {
    struct mpr_calltree_options options;
    struct mpr_arena arena;
    struct mpr_summary summary;
    uint8_t heap;                 /* MPF_HEAP_NONE: no heap has stacks */
    uint8_t inside;               /* the heap that includes these bytes, or MPF_HEAP_NONE */
    uint64_t time, bytes, blocks; /* the instant, and the heap's bytes and blocks at it */
    uint64_t unknown_bytes, unknown_blocks; /* without a stack */
    uint64_t samples; /* sampled blocks from which the figures are estimated, or 0 */
    struct mpr_call *call;
    size_t calls;
    const uint8_t *other; /* the heaps that have call stacks */
    size_t others;
    const char *const *note; /* sentences about names that were not found, and the reasons */
    size_t notes;
};

/* Reads one log.  Returns 0, or -1 with *error filled and nothing to free. */
int mpr_calltree_read(struct mpr_calltree *t, const char *path,
                      const struct mpr_calltree_options *options,
                      const struct mpr_progress *progress, struct mpr_error *error);
void mpr_calltree_free(struct mpr_calltree *t);

#endif
