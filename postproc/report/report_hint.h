/* What to record the next time.  Private to this layer. */
#ifndef MPR_REPORT_HINT_H
#define MPR_REPORT_HINT_H

#include "document.h"

struct mpr_heap_peak;
struct mpr_insights;
struct mpr_log_peaks;
struct mpr_summary;

/* For people: how much of a heap's peak has no name, where that is much, why, and the command or
 * option that gives it one.  The report tells the log's notes. */
void mpr_report_hint(struct mpr_document *doc, const struct mpr_log_peaks *log);
/* The same of a report that tells no notes, and may know the run that the log is of. */
void mpr_report_hint_alone(struct mpr_document *doc, const struct mpr_insights *insights);
/* For people, of a heap's blocks that are counted one by one: how many have a name, and why no
 * more, where a tenth or more have none; true: a recording with all call stacks would name them. */
bool mpr_report_hint_counts(struct mpr_document *doc, const struct mpr_log_peaks *log, uint8_t heap,
                            uint64_t named, uint64_t all);
/* For people, behind a line on a heap that is estimated inside another one: where its samples stand
 * for more than pymalloc's arenas hold, what these do. */
void mpr_report_beyond(struct mpr_document *doc, const struct mpr_log_peaks *log,
                       const struct mpr_heap_peak *heap);
/* A line for people: the recorder with its options, and the program that the log is of. */
void mpr_report_run(struct mpr_document *doc, const struct mpr_summary *summary,
                    const char *recorder);

#endif
