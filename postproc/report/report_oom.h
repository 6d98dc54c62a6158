/* The parts of the report on out-of-memory events.  Private to this layer. */
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
/* Returns "rank 3, pid 4242". */
const char *mpr_report_oom_process(struct mpr_document *doc, const struct mpr_summary *s);
/* The cause, in at most three lines, and the findings; before them, for people, what to record the
 * next time. */
void mpr_report_oom_cause(struct mpr_document *doc, const struct mpr_ooms *ooms);
/* The host memory of one process.  @shown: also for people. */
void mpr_report_oom_host(struct mpr_document *doc, const struct mpr_ooms_log *log, bool shown);
/* The threads that held the host memory that ran out, if several did. */
void mpr_report_oom_threads(struct mpr_document *doc, const struct mpr_ooms *ooms);

#endif
