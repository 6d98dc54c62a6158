/* A heap's buckets with its exact excerpts in their place.  Private to this layer. */
#ifndef MPR_SPLICE_H
#define MPR_SPLICE_H

#include "excerpts.h"
#include "timeline_result.h"

struct mpr_splice {
    const struct mpr_series *series;          /* of bands */
    const struct mpr_excerpt_series *excerpt; /* of bands, too, in order of `from` */
    size_t excerpts, bands;
};

/* Fills spans, changes and exact intervals of the heap. */
void mpr_splice_fill(const struct mpr_splice *splice, struct mpr_arena *arena,
                     struct mpr_heap_line *out);

#endif
