/* What must be known of a whole log before it is read by it.  Private to this layer. */
#ifndef MPR_FIRST_LOOK_H
#define MPR_FIRST_LOOK_H

#include "reader.h"

struct mpr_first_look {
    struct mpr_choice choice; /* what AUTO stands for */
    const char *range;        /* the outermost one that repeats, in the arena; NULL: none does */
    const char *grows;        /* the one that growth is told by: of enough instances */
    uint64_t end_ns;          /* of the last event */
    struct mpr_first_heap {
        uint64_t peak_bytes, peak_ns, end_bytes;
    } heap[MPR_HEAPS]; /* by code */
};

/* Fills in where the log ends, and what its heaps came to. */
void mpr_first_look_ended(struct mpr_first_look *out, const struct mpr_reader *reader);
/* Reads it once, by the grouping that it will be read by.  0, or -1 with *error filled. */
int mpr_first_look(struct mpr_first_look *out, struct mpr_arena *arena, const char *path,
                   enum mpr_group by, const struct mpr_progress *progress, struct mpr_error *error);

#endif
