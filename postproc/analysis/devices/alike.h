/* Segments of one shape together: "599 x 20.00 MiB, hole 18.00 MiB". */
#ifndef MPR_ALIKE_H
#define MPR_ALIKE_H

#include "segments.h"

/* As large, as free, with a hole as large, in the same state of the same pool. */
struct mpr_alike {
    const struct mpr_segment *oldest; /* the one with the oldest block */
    uint64_t segments, bytes, free, blocks;
    uint64_t paths; /* of their oldest blocks; 0: nothing is live in them */
};

/* The shapes of segments, most free bytes first; apart: each segment is one.  In the arena. */
struct mpr_alike *mpr_alike(struct mpr_arena *arena, const struct mpr_segment *segment,
                            size_t segments, bool apart, size_t *shapes);

#endif
