/* Outliers among the instances of a repeated range: the result of `memprof-report steps`.
 *
 * There are none among fewer than MPR_STEPS_LEAST instances.  A peak is an outlier if it exceeds
 * the median by a tenth, and by three times the distance from the median to the third quartile.  So
 * peaks that grow with each instance are not outliers.  Kept bytes are an outlier if they exceed
 * their median by a tenth of the median peak, and by three times the distance to their third
 * quartile.  An instance that did not end has no kept bytes. */
#ifndef MPR_STEPS_H
#define MPR_STEPS_H

#include "growth.h"
#include "instances.h"
#include "row.h"

enum { MPR_STEPS_LEAST = 4 };
enum { MPR_STEPS_PEAK = 1, MPR_STEPS_KEPT = 2 };

struct mpr_steps_heap {
    const struct mpr_instances_heap *heap;
    uint64_t median_peak, least_peak, most_peak; /* least and most: without outliers */
    size_t median;                               /* the instance with the median peak */
    int64_t median_kept;
    uint8_t *outlier;              /* by instance: MPR_STEPS_PEAK, MPR_STEPS_KEPT, or both */
    size_t peaks_out, kept_out;    /* number of outliers */
    size_t worst_peak, worst_kept; /* instances: the largest outliers, if there are any */
};

/* The bytes of the worst instance at its peak, compared with the median instance.  In the paths the
 * repeated range has no number. */
struct mpr_steps_comparison {
    size_t instance, median;
    struct mpr_choice choice;
    struct mpr_growth growth;    /* from the median instance to the worst one */
    struct mpr_row *more, *less; /* rows of which the worst one holds more, and less; their bytes
                                    and blocks are the differences */
    size_t mores, lesses;
};

struct mpr_steps {
    struct mpr_instances instances;
    struct mpr_steps_heap *heap; /* one for each element of instances.heap */
    size_t shown; /* the largest heap, with PyTorch's blocks instead of their segments; if that has
                     no outlier, a heap with one */
    /* Of that heap, if it has an outlier by its peak; otherwise without rows.  `calls`: by call
     * stacks, if AUTO groups by ranges and the log has call stacks. */
    struct mpr_steps_comparison comparison, calls;
};

struct mpr_steps_options {
    struct mpr_instances_options instances;
    enum mpr_group by;               /* grouping of the compared peaks */
    const struct mpr_choice *choice; /* the grouping for AUTO, or NULL to choose it from the log */
    const struct mpr_instances *known; /* instances of an earlier reading, or NULL.  The result owns
                                          them from then on. */
};

/* Returns 0, or -1 with *error filled. */
int mpr_steps_read(struct mpr_steps *out, const char *path, const struct mpr_steps_options *options,
                   const struct mpr_progress *progress, struct mpr_error *error);
void mpr_steps_free(struct mpr_steps *steps);
/* Returns the row of which the worst instance holds most in excess of the median one: by call
 * stack, otherwise by range.  NULL without an outlier, or if these rows have no names. */
const struct mpr_row *mpr_steps_cause(const struct mpr_steps *steps);

#endif
