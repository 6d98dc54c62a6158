/* Parts of the report of ranks.  Private to this layer. */
#ifndef MPR_REPORT_RANKS_H
#define MPR_REPORT_RANKS_H

#include "document.h"
#include "ranks.h"

/* Who lies apart, and what makes each differ. */
void mpr_report_ranks_outliers(struct mpr_document *doc, const struct mpr_ranks *ranks);
/* Which stages' peaks differ, and what makes each differ. */
void mpr_report_ranks_stages(struct mpr_document *doc, const struct mpr_ranks *ranks);
/* By node and by communicator. */
void mpr_report_ranks_groups(struct mpr_document *doc, const struct mpr_ranks *ranks);
/* Ranks over time. */
void mpr_report_ranks_heat(struct mpr_document *doc, const struct mpr_ranks *ranks);

/* What makes it differ: as fields, and behind what was said. */
void mpr_report_ranks_causes(struct mpr_document *doc, const struct mpr_ranks *ranks,
                             const struct mpr_ranks_outlier *outlier);
void mpr_report_ranks_why(struct mpr_document *doc, const struct mpr_ranks *ranks,
                          const struct mpr_ranks_outlier *outlier);

#endif
