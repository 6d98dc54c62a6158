/* Parts of the summary that the card of the page also has.  Private to this layer. */
#ifndef MPR_REPORT_SUMMARY_H
#define MPR_REPORT_SUMMARY_H

#include "document.h"
#include "insights.h"

/* The owners of a heap at an instant. */
struct mpr_owners {
    uint8_t of;        /* MPF_HEAP_NONE if nothing was recorded */
    const char *bytes; /* title of the bytes: "at the peak" */
    const struct mpr_row *row;
    size_t rows;
    uint64_t whole;
    const struct mpr_device_state *asleep; /* has more blocks of PyTorch, without memory; or NULL */
};

/* Returns the owners on the device that ran out of memory, or else of the largest heap that is not
 * part of another one.  PyTorch's blocks are preferred to the segments that contain them; if some
 * are asleep, only those that had memory when the device was fullest. */
struct mpr_owners mpr_report_summary_owners(const struct mpr_insights *insights);

/* Adds the line about device memory that ran out. */
void mpr_report_ran_out(struct mpr_document *doc, const struct mpr_insights_oom *oom);
/* Adds the line about the newest refusal of host memory, and their number. */
void mpr_report_refused(struct mpr_document *doc, const struct mpr_refused_request *refused);
/* Adds the lines with commands that show more.  @ranks: the job, or NULL. */
struct mpr_ranks;
void mpr_report_next(struct mpr_document *doc, const struct mpr_insights *insights,
                     const struct mpr_ranks *ranks);

#endif
