/* Parts of the report on peaks by thread.  Private to this layer. */
#ifndef MPR_REPORT_THREADS_H
#define MPR_REPORT_THREADS_H

#include "document.h"

struct mpr_heap_peak;
struct mpr_thread_row;
struct mpr_thread_use;

/* The threads of a heap as lines for people.
 * @bytes: heading of the bytes
 * @bounds: some numbers are lower bounds, because the log was thinned */
void mpr_report_thread_lines(struct mpr_document *doc, const struct mpr_heap_peak *heap,
                             const struct mpr_thread_row *thread, const char *bytes, bool bounds);
/* All threads of a log, also those that allocated nothing. */
void mpr_report_thread_lives(struct mpr_document *doc, const struct mpr_thread_use *use);

#endif
