/* Memory of the process as the kernel and jemalloc reported it: fields of JSON, columns of exported
 * tables, and lines for people. */
#ifndef MPR_READINGS_H
#define MPR_READINGS_H

#include "document.h"
#include "peaks.h"

/* The values of one source's reading, named as in JSON. */
enum { MPR_RSS_COLUMNS = 14, MPR_CGROUP_COLUMNS = 10, MPR_JEMALLOC_COLUMNS = 7 };
extern const struct mpr_column mpr_reading_rss[MPR_RSS_COLUMNS],
    mpr_reading_cgroup[MPR_CGROUP_COLUMNS], mpr_reading_jemalloc[MPR_JEMALLOC_COLUMNS];

/* Adds an object with the source's values; without a sample it adds nothing. */
void mpr_report_reading(struct mpr_document *doc, const char *key, enum mpr_reading_source source,
                        const struct mpr_reading *r);
/* Adds an object with those of all sources. */
void mpr_report_readings(struct mpr_document *doc, const char *key,
                         const struct mpr_reading list[MPR_READ_SOURCES]);

/* Adds an object with the highest value of a source and its time; nothing if it is not known. */
void mpr_report_reading_peak(struct mpr_document *doc, const char *key,
                             const struct mpr_reading_peak *peak);
/* For people: when it was reached, with the samples around it: "at 00:00:01.053", or "between
 * 00:02:15.853 (901.20 MiB) and 00:02:15.953 (870.00 MiB)". */
const char *mpr_report_reached(struct mpr_document *doc, const struct mpr_reading_peak *peak);
/* For people: "RSS peak: 302.00 MiB at 00:00:01.053", and the same of the cgroup with its limit if
 * it has one; the line is not ended.  Returns false if RSS is not known. */
bool mpr_report_rss_peak(struct mpr_document *doc, const struct mpr_log_peaks *log);
/* For people: the samples at the heap's peak, or the nearest ones with their times.
 * @at_peak: false if another instant replaces the peak. */
void mpr_report_kernel_view(struct mpr_document *doc, const struct mpr_heap_peak *heap,
                            bool at_peak);
/* Adds an object with resident memory by kind of mapping, and for people one line per kind of at
 * least 1 %.  Without a sample it adds nothing.  @lines: false: only the object. */
void mpr_report_resident(struct mpr_document *doc, const struct mpr_log_peaks *log, bool lines);
/* Returns the resident bytes of which the sample knows the parts, or MPF_UNKNOWN. */
uint64_t mpr_reading_resident_bytes(const struct mpr_reading *rss);
/* Returns the kind of the cgroup's charge that is in no process and has at least half of @bytes,
 * such as "files on tmpfs or shared memory", with its bytes; NULL if none is known.  Page cache
 * does not count, because the kernel frees it. */
const char *mpr_reading_outside(const struct mpr_reading *cgroup, uint64_t bytes, uint64_t *kind);
/* Adds the time of Private_Dirty and Pss to a line, if they were read before the other values. */
void mpr_report_smaps_time(struct mpr_document *doc, const struct mpr_reading *rss);

#endif
