/* What must be known of a whole log before it is read by it.  Private to this layer. */
#ifndef MPR_FIRST_LOOK_H
#define MPR_FIRST_LOOK_H

#include "reader.h"

struct mpr_first_look {
    struct mpr_choice choice; /* what AUTO stands for */
    const char *range;        /* the outermost one that repeats, in the arena; NULL: none does */
    uint64_t end_ns;          /* of the last event */
};

/* Reads it once, by the grouping that it will be read by.  0, or -1 with *error filled. */
int mpr_first_look(struct mpr_first_look *out, struct mpr_arena *arena, const char *path,
                   enum mpr_group by, const struct mpr_progress *progress, struct mpr_error *error);

#endif
