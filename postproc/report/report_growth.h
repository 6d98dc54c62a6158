/* Growth between two instants.  Private to this layer. */
#ifndef MPR_REPORT_GROWTH_H
#define MPR_REPORT_GROWTH_H

#include "document.h"
#include "growth.h"

/* Adds an object to JSON, or null if the growth is not valid.
 * @of: the first frame of its paths in flame graphs, or NULL if it is in none. */
void mpr_report_growth(struct mpr_document *doc, const char *key, const struct mpr_growth *growth,
                       const char *of);
/* For people: the largest changes.
 * @whole: name of a first row with the sums, or NULL for none; @by: the grouping of the paths. */
void mpr_report_growth_rows(struct mpr_document *doc, const char *whole,
                            const struct mpr_growth *growth, enum mpr_group by);

/* The line of such a table that grew most.  name: NULL if none grew. */
struct mpr_most_grown {
    const char *name;
    uint64_t bytes;
    bool estimated;
};
struct mpr_most_grown mpr_report_most_grown(struct mpr_document *doc,
                                            const struct mpr_growth *growth, enum mpr_group by);

#endif
