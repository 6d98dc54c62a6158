/* Hints for the next recording, so that more bytes have a name.  Private to this layer. */
#ifndef MPR_REPORT_HINT_H
#define MPR_REPORT_HINT_H

#include "document.h"

struct mpr_heap_peak;
struct mpr_insights;
struct mpr_log_peaks;
struct mpr_summary;

/* Adds lines for people: the bytes of a heap's peak without a name, if they are many, the reason,
 * and the command or option that names them.  The report itself prints the log's notes. */
void mpr_report_hint(struct mpr_document *doc, const struct mpr_log_peaks *log);
/* The same for a report that prints no notes.  It may know the run of the log. */
void mpr_report_hint_alone(struct mpr_document *doc, const struct mpr_insights *insights);
/* Adds a line for people about blocks that are counted one by one: how many have a name and why not
 * more, if at least a tenth has none.  Returns true if it did: a recording with all call stacks
 * would name them. */
bool mpr_report_hint_counts(struct mpr_document *doc, const struct mpr_log_peaks *log, uint8_t heap,
                            uint64_t named, uint64_t all);
/* Adds the bytes of pymalloc's arenas to a line for people about a heap that is estimated inside
 * another one, if the estimate is larger. */
void mpr_report_arena_limit(struct mpr_document *doc, const struct mpr_log_peaks *log,
                            const struct mpr_heap_peak *heap);
/* Adds a line for people: the recorder with its options, and the program of the log. */
void mpr_report_run(struct mpr_document *doc, const struct mpr_summary *summary,
                    const char *recorder);

#endif
