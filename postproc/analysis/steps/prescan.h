/* Facts about a whole log that are needed before its growth can be measured.  Private to this
 * layer. */
#ifndef MPR_PRESCAN_H
#define MPR_PRESCAN_H

#include "reader.h"

struct mpr_prescan {
    struct mpr_choice choice; /* the grouping for AUTO */
    const char *range; /* the range with the instances by which growth is measured, in the arena, or
                          NULL if no range repeats often enough */
    uint64_t end_ns;   /* time of the last event */
    struct mpr_prescan_heap {
        uint64_t peak_bytes, peak_ns, end_bytes;
    } heap[MPR_HEAPS]; /* by code; zeros if there is a range */
};

/* Fills end_ns and the heaps from a finished replay. */
void mpr_prescan_take(struct mpr_prescan *out, const struct mpr_reader *reader);
/* Reads a log.  @with_heaps: the heaps are needed even if there is a range.  Returns 0, or -1 with
 * *error filled. */
int mpr_prescan_read(struct mpr_prescan *out, struct mpr_arena *arena, const char *path,
                     bool with_heaps, const struct mpr_progress *progress, struct mpr_error *error);

#endif
