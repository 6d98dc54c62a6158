/* What to record the next time.  Private to this layer. */
#ifndef MPR_REPORT_HINT_H
#define MPR_REPORT_HINT_H

#include "document.h"

struct mpr_log_peaks;
struct mpr_summary;

/* For people: how much of a heap's peak has no name, where that is much, why, and the command or
 * option that gives it one. */
void mpr_report_hint(struct mpr_document *doc, const struct mpr_log_peaks *log);
/* A line for people: the recorder with its options, and the program that the log is of. */
void mpr_report_run(struct mpr_document *doc, const struct mpr_summary *summary,
                    const char *recorder);

#endif
