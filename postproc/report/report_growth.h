/* What grew between two instants.  Private to this layer. */
#ifndef MPR_REPORT_GROWTH_H
#define MPR_REPORT_GROWTH_H

#include "document.h"
#include "ooms.h"

/* An object, null when it is not valid; time_ns (of the first instant) where it is two instants of
 * one process.  of: the first frame of its paths in flame graphs; NULL: it is in none. */
void mpr_report_growth(struct mpr_document *doc, const char *key, const struct mpr_growth *growth,
                       const char *of);
/* For people: in all under that name (NULL: not told), then what changed most; by: what its paths
 * are. */
void mpr_report_growth_rows(struct mpr_document *doc, const char *whole,
                            const struct mpr_growth *growth, enum mpr_group by);

/* Of these rows, as they are told there, the one that grew most, and by how many bytes.  name:
 * NULL: none grew, or the growth is not valid. */
struct mpr_most_grown {
    const char *name;
    uint64_t bytes;
    bool estimated;
};
struct mpr_most_grown mpr_report_most_grown(struct mpr_document *doc,
                                            const struct mpr_growth *growth, enum mpr_group by);

#endif
