/* Live bytes by call stack, as a tree: the result behind `memprof-report stacks`.  Lives until
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
    bool python;    /* Python's stacks, not native ones */
    bool bottom_up; /* from who allocated towards main */
    uint8_t heap;   /* MPF_HEAP_NONE: the one with the largest peak that has stacks */
    struct mpr_instant at;
};

/* A call with all above it in the tree; in preorder, callees by bytes. */
struct mpr_call {
    const struct mpr_frame *frame;
    size_t parent; /* itself: it has none */
    unsigned depth;
    uint64_t bytes, blocks;         /* with what is below it */
    uint64_t own_bytes, own_blocks; /* of stacks that end here */
};

struct mpr_calltree {
    struct mpr_calltree_options options;
    struct mpr_arena arena;
    struct mpr_summary summary;
    uint8_t heap;                 /* MPF_HEAP_NONE: no heap has stacks */
    uint8_t inside;               /* the heap whose bytes these are a part of; MPF_HEAP_NONE */
    uint64_t time, bytes, blocks; /* the instant, and the heap's bytes and blocks then */
    uint64_t unknown_bytes, unknown_blocks; /* without a stack */
    uint64_t samples; /* figures are estimates from so many blocks; 0: they are exact */
    struct mpr_call *call;
    size_t calls;
    const uint8_t *other; /* all heaps that have stacks */
    size_t others;
    const char *const *note; /* what names could not be found, and why */
    size_t notes;
};

/* 0, or -1 with *error filled (nothing to free then). */
int mpr_calltree_read(struct mpr_calltree *t, const char *path,
                      const struct mpr_calltree_options *options,
                      const struct mpr_progress *progress, struct mpr_error *error);
void mpr_calltree_free(struct mpr_calltree *t);

#endif
