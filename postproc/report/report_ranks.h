/* Parts of the report on ranks.  Private to this layer. */
#ifndef MPR_REPORT_RANKS_H
#define MPR_REPORT_RANKS_H

#include "document.h"
#include "ranks.h"

/* Ranks whose peaks are outliers, and the causes. */
void mpr_report_ranks_outliers(struct mpr_document *doc, const struct mpr_ranks *ranks);
/* The same in fewer lines: a part of the summary. */
void mpr_report_ranks_differences(struct mpr_document *doc, const struct mpr_ranks *ranks);
/* Stages whose peaks differ, and the causes. */
void mpr_report_ranks_stages(struct mpr_document *doc, const struct mpr_ranks *ranks);
/* Peaks by node and by communicator. */
void mpr_report_ranks_groups(struct mpr_document *doc, const struct mpr_ranks *ranks);
/* The bytes of all ranks over time. */
void mpr_report_ranks_heat(struct mpr_document *doc, const struct mpr_ranks *ranks);

#endif
