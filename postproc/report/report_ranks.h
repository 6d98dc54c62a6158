/* Parts of the report on ranks.  Private to this layer. */
#ifndef MPR_REPORT_RANKS_H
#define MPR_REPORT_RANKS_H

#include "document.h"
#include "ranks.h"

/* Which processes are compared, which are missing, incomplete or have failed.  @brief: for a
 * summary, without notes on clocks and on blocks that were not recorded. */
void mpr_report_ranks_processes(struct mpr_document *doc, const struct mpr_ranks *ranks,
                                bool brief);
/* Ranks whose peaks are outliers, and the causes.  @brief: in fewer lines. */
void mpr_report_ranks_outliers(struct mpr_document *doc, const struct mpr_ranks *ranks, bool brief);
/* Stages whose peaks differ, and the causes. */
void mpr_report_ranks_stages(struct mpr_document *doc, const struct mpr_ranks *ranks);

#endif
