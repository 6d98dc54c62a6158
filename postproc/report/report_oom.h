/* The parts of the report on lacks of memory.  Private to this layer. */
#ifndef MPR_REPORT_OOM_H
#define MPR_REPORT_OOM_H

#include "document.h"
#include "ooms.h"

/* The words of a change with which a request would have fit. */
struct mpr_fit_text {
    const char *key, *what, *how;
};
extern const struct mpr_fit_text mpr_report_fit_text[MPR_FITS];

/* Several processes at the instant of the first failure: for people, and the fields. */
void mpr_report_oom_comparison(struct mpr_document *doc, const struct mpr_ooms *ooms);
void mpr_report_oom_first_failure(struct mpr_document *doc, const struct mpr_ooms *ooms);
/* "rank 3, pid 4242" */
const char *mpr_report_oom_who(struct mpr_document *doc, const struct mpr_summary *s);
/* For people, the largest live blocks. */
/* chosen: what paths are. */
void mpr_report_oom_blocks(struct mpr_document *doc, const struct mpr_oom_story *story,
                           enum mpr_group chosen);
/* Why, in three lines at most, and what was found; for people before it what to record the next
 * time. */
void mpr_report_oom_cause(struct mpr_document *doc, const struct mpr_ooms *ooms);
/* Which threads of the first to fail held the host memory that ran out, where several did. */
void mpr_report_oom_threads(struct mpr_document *doc, const struct mpr_ooms *ooms);
/* As CSV: each lack of memory a record. */
void mpr_report_oom_records(struct mpr_document *doc, const struct mpr_ooms *ooms);
/* What one process met of host memory; told: to people, too. */
void mpr_report_oom_host(struct mpr_document *doc, const struct mpr_ooms_log *log, bool told);

#endif
