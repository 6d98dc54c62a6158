/* Which instances of a repeated range stand out, and by what: the result behind `memprof-report
 * steps`.
 *
 * Of MPR_STEPS_LEAST or more, one stands out by its peak where that is above the median of all by a
 * tenth, and by three times as much as the third quartile is; by what it kept where that is above
 * the median of what they keep by a tenth of the median peak, and by three times as much as their
 * third quartile is.  So a peak that grows with each instance makes none of them stand out.  One
 * that did not end is not judged by what it kept. */
#ifndef MPR_STEPS_H
#define MPR_STEPS_H

#include "instances.h"
#include "row.h"

enum { MPR_STEPS_LEAST = 4 };
enum { MPR_STEPS_PEAK = 1, MPR_STEPS_KEPT = 2 };

struct mpr_steps_heap {
    const struct mpr_instances_heap *heap;
    uint64_t median_peak, least_peak, most_peak; /* least and most: of those that do not stand out
                                                    by it */
    size_t median;                               /* the instance that has the median peak */
    int64_t median_kept;
    uint8_t *stands_out; /* by instance: MPR_STEPS_* */
    size_t peaks_out, kept_out;
    size_t worst_peak, worst_kept; /* of these, where there are any */
};

/* Bytes of one path at two peaks. */
struct mpr_steps_row {
    struct mpr_path path; /* outermost first; the repeated range itself without its
                                            number */
    uint64_t here, median;
    uint64_t blocks_here, blocks_median;
    bool estimated;
};

/* What the worst instance held at its peak, and what the median one did. */
struct mpr_steps_comparison {
    size_t instance, median;
    struct mpr_choice choice;
    struct mpr_steps_row *row; /* whose bytes differ, the largest difference first */
    size_t rows;
    struct mpr_row *more, *less; /* of these, that the instance holds more of, and less: by so many
                                    bytes and blocks */
    size_t mores, lesses;
};

struct mpr_steps {
    struct mpr_instances instances;
    struct mpr_steps_heap *heap; /* as instances.heap */
    size_t shown; /* the largest heap, PyTorch's blocks rather than their segments; or the one in
                     which an instance stands out, where none does in that */
    bool compared;
    struct mpr_steps_comparison comparison; /* of that heap, where an instance stands out by its
                                               peak */
    struct mpr_steps_comparison calls; /* the same by call stacks, where AUTO tells blocks apart by
                                          ranges and they have call stacks, too; else no rows */
};

struct mpr_steps_options {
    struct mpr_instances_options instances;
    enum mpr_group by;                 /* what two peaks are compared by */
    const struct mpr_choice *choice;   /* what AUTO stands for in the log; NULL: it is found out */
    const struct mpr_instances *known; /* that were measured already, and are the steps' from now
                                          on; NULL: they are measured */
};

/* 0, or -1 with *error filled. */
int mpr_steps_read(struct mpr_steps *out, const char *path, const struct mpr_steps_options *options,
                   const struct mpr_progress *progress, struct mpr_error *error);
void mpr_steps_free(struct mpr_steps *steps);
/* What the worst instance holds most of that the median one does not, of the heap that is shown: by
 * its call stack, or else its range.  NULL: none stands out, or nothing of it has a name. */
const struct mpr_row *mpr_steps_cause(const struct mpr_steps *steps);

#endif
