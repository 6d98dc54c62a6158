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

/* The reason for a failure without a call of the driver. */
extern const char mpr_report_own_limit[];
/* Adds the lines of an event that say what was requested, where, and how much was missing. */
void mpr_report_oom_request_lines(struct mpr_document *doc, const struct mpr_oom_event *event);
/* "since the last good peak (step:11, 00:11:40.000)" */
const char *mpr_report_since_good(struct mpr_document *doc, const struct mpr_oom_event *event);
/* Begins one of these lines, or one about a process, with its label. */
#define mpr_report_oom_label(doc, word) mpr_doc_label(doc, MPR_PLAIN, 2, 8, word)
/* Returns "yes", "no" or "not computed": whether the request would have fit; in the words of the
 * report with the bytes that are missing, and the change. */
const char *mpr_report_fit_what(const struct mpr_fit *fit); /* "without graph pools" */
const char *mpr_report_fit_answer(const struct mpr_fit *fit);
const char *mpr_report_fit_words(struct mpr_document *doc, const struct mpr_fit *fit);

/* Several processes at the instant of the first failure: for people, and the fields. */
void mpr_report_oom_comparison(struct mpr_document *doc, const struct mpr_ooms *ooms);
void mpr_report_oom_first_failure(struct mpr_document *doc, const struct mpr_ooms *ooms);
/* Returns "rank 3, pid 4242". */
const char *mpr_report_oom_process(struct mpr_document *doc, const struct mpr_summary *s);
/* The cause, in at most three lines, and the findings; before them, for people, what to record the
 * next time. */
void mpr_report_oom_cause(struct mpr_document *doc, const struct mpr_ooms *ooms);
/* Only the lines with the cause.  @log: one of the logs, @insights: its insights. */
void mpr_report_oom_why(struct mpr_document *doc, const struct mpr_ooms *ooms,
                        const struct mpr_ooms_log *log, const struct mpr_insights *insights);
/* The line about the end of a process that ran out of host memory, and those about its limits, RSS
 * and growth. */
void mpr_report_oom_host_heading(struct mpr_document *doc, const struct mpr_ooms_log *log);
void mpr_report_oom_process_lines(struct mpr_document *doc, const struct mpr_ooms_log *log);
/* The host memory of one process.  @shown: also for people. */
void mpr_report_oom_host(struct mpr_document *doc, const struct mpr_ooms_log *log, bool shown);
/* The threads that held the host memory that ran out, if several did. */
void mpr_report_oom_threads(struct mpr_document *doc, const struct mpr_ooms *ooms);

#endif
