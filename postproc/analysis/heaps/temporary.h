/* Blocks that were freed soon, by who made them: the result behind `memprof-report temporary`.
 *
 * Everything in it lives until mpr_temporary_free. */
#ifndef MPR_TEMPORARY_H
#define MPR_TEMPORARY_H

#include "peaks.h"
#include "tally.h"

struct mpr_temporary_options {
    enum mpr_group by;
    uint8_t heap; /* only this one; MPF_HEAP_NONE: all whose blocks are recorded, not sampled */
    uint64_t within_ns; /* who lived no longer was temporary */
};

/* row.bytes is the number of temporary blocks: by it lines are ranked and told apart. */
struct mpr_temporary_row {
    struct mpr_row row;
    struct mpr_tally tally;
};

struct mpr_temporary_heap {
    uint8_t heap;
    struct mpr_tally all;
    struct mpr_temporary_row *row; /* by temporary blocks, most first */
    size_t rows;
};

struct mpr_temporary {
    struct mpr_temporary_options options;
    struct mpr_peaks peaks;          /* of the one log: its summary, choice and notes */
    struct mpr_temporary_heap *heap; /* those with blocks; most temporary ones first */
    size_t heaps;
};

/* 0, or -1 with *error filled (nothing to free then). */
int mpr_temporary_read(struct mpr_temporary *out, const char *path,
                       const struct mpr_temporary_options *options,
                       const struct mpr_progress *progress, struct mpr_error *error);
void mpr_temporary_free(struct mpr_temporary *out);

#endif
